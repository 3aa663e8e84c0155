import ArgumentParser

/// The form in which `graph` draws a configuration.
enum GraphFormat: String, ExpressibleByArgument, CaseIterable, Sendable {
    /// A picture that needs no other program.
    case svg
    /// A flow chart in the language of Mermaid, which GitHub and GitLab draw.
    case mermaid
    /// A graph in the language of Graphviz.
    case dot
}

/// The command `signalbox graph CONFIG`.
struct GraphCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "graph",
        abstract: "Draws a configuration: its sources, its plugins, and who may call whom.",
        usage: "signalbox graph [<options>] <config>",
        discussion: """
            Sources are on the left and plugins on the right. A source that no plugin listens to, and a plugin that no \
            source reaches, are dashed. The command opens only the configuration: it connects to nothing, starts \
            nothing and reads no secret.

            EXAMPLES
              signalbox graph examples/forward/dispatch.yaml
              signalbox graph examples/links/links.yaml --format mermaid

            \(CommandStatus.help([.done, .usage, .invalidConfiguration, .unreadableFile, .outputFailed], of: "graph"))
            """
    )

    @Argument(
        help: ArgumentHelp("The configuration, a YAML file.", valueName: "config"),
        completion: .configuration
    )
    var config: String

    @Option(help: "The form of the picture.")
    var format = GraphFormat.svg

    @OptionGroup(title: "Diagnostics")
    var diagnostics: DiagnosticArguments

    func validate() throws {
        try MixedArguments.validate(first: config)
    }

    func perform() async throws -> CommandStatus {
        let configuration = try ConfigurationFile.read(config, for: .explain)
        let graph = ConfigurationGraph(configuration, folder: ConfigurationFile.folder(of: config))
        try await StandardOutput().write(graph.bytes(as: format, title: RawArguments.shown(config)))
        return .done
    }
}

extension ConfigurationGraph {
    /// Returns the picture, with a newline at the end.
    ///
    /// - Parameter title: The path of the configuration.
    func bytes(as format: GraphFormat, title: String) -> [UInt8] {
        let text =
            switch format {
            case .svg: SVGDrawing(GraphLayout(self), of: self, title: GraphLabel.text(title)).text
            case .mermaid: mermaid
            case .dot: dot
            }
        return Array(text.utf8)
    }
}
