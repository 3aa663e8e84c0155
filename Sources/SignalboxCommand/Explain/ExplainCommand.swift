import ArgumentParser
import Logging
import SignalboxCore

/// The commands `signalbox explain CONFIG --body JSON` and `signalbox explain CONFIG --url URL`.
struct ExplainCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Shows how one message or link would be handled, stage by stage. Runs nothing.",
        discussion: """
            One JSON object: source, envelope, action, id, route, body, verdict, steps; for a plugin of several steps \
            also chain; for a URL also navigation. The command calls \
            no plugin, opens no plugin's file, connects to no broker, runs no script and reads no secret.

            EXAMPLES
              signalbox explain examples/links/links.yaml --url myapp://product/42
              signalbox explain examples/tour/page.yaml --body '{"action":"payment"}'

            \(CommandStatus.help([
                .done, .notAsExpected, .usage, .invalidConfiguration, .unreadableFile, .outputFailed,
            ], of: "explain"))
            """
    )

    @Argument(
        help: ArgumentHelp("The configuration, a YAML file.", valueName: "config"),
        completion: .configuration
    )
    var config: String

    @OptionGroup var content: BodyArguments

    @Option(help: ArgumentHelp("A link instead of a message; '-' reads it from stdin.", valueName: "url"))
    var url: String?

    @Option(help: ArgumentHelp("The source of the message or link.", valueName: "name"))
    var source: String?

    @Flag(help: "Also read the variables and files that hold secrets; what is missing is an error.")
    var withSecrets = false

    @OptionGroup var properties: MessageFactArguments

    @OptionGroup(title: "Diagnostics")
    var diagnostics: DiagnosticArguments

    func validate() throws {
        try MixedArguments.validate(first: config)
        guard (content.source == nil) != (url == nil) else {
            throw ValidationError("expected either a message (--body or --file) or a link (--url)")
        }
        if url != nil, let option = properties.facts.given.first?.name {
            throw ValidationError("\(option) applies to a message, not to a URL")
        }
    }

    func perform() async throws -> CommandStatus {
        let configuration = try ConfigurationFile.read(config, for: withSecrets ? .plugins : .explain)
        let explainer = ConfigurationExplainer(configuration: configuration, file: config)
        let line: ExplanationLine
        if let message = content.source {
            let facts = properties.facts
            let section = try explainer.source(source, for: facts)
            if case .feed(let feed) = section.kind, !feed.isURLRead {
                DiagnosticOutput.shared.report(
                    "the URL of '\(section.name)' is not read; add --with-secrets to read it",
                    level: .warning
                )
            }
            let bytes = try await message.bytes(limit: FileContent.payloadLimit)
            line = try explainer.line(about: bytes, facts, of: section)
        } else {
            line = try await explainer.line(about: try await link(), of: source)
        }
        let output = StandardOutput()
        try await output.write(output.isTerminal ? line.terminalLines : line.jsonLine)
        return line.isCalled ? .done : .notAsExpected
    }

    /// Returns the link. If the link comes from stdin, its line ending is removed.
    private func link() async throws(CommandFailure) -> String {
        let input = InputSource(url ?? "")
        var bytes = try await input.bytes(limit: FileContent.payloadLimit)
        if input == .standardInput, bytes.last == UInt8(ascii: "\n") {
            bytes.removeLast()
            if bytes.last == UInt8(ascii: "\r") { bytes.removeLast() }
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw CommandFailure(.invalidConfiguration, "stdin: the URL is not UTF-8")
        }
        return text
    }
}
