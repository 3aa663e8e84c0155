import ArgumentParser
import NavigationChain

/// `signalbox navigate URL...`.
struct NavigateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "navigate",
        abstract: "Asks the navigation chain of a configuration what shall become of URLs.",
        discussion: """
            One JSON object per URL, in order: url (or input, when it is refused), policy (allow, cancel or download), \
            decider, reason, trace. Nothing is opened: a reason says what would be.

            EXAMPLE
              signalbox navigate https://shop.example/cart --config examples/links/links.yaml

            \(CommandStatus.help([
                .done, .notAsExpected, .usage, .invalidConfiguration, .unreadableFile, .outputFailed,
            ]))
            """
    )

    @Argument(help: ArgumentHelp("URLs; those that begin with '-' behind '--'.", valueName: "url"))
    var urls: [String] = []

    @Flag(help: "Read a URL from each line of stdin; an empty line is one that is cancelled.")
    var stdin = false

    @Option(help: ArgumentHelp("The configuration; only its 'navigation' is needed.", valueName: "file"))
    var config: String

    @Option(help: "Why the URL would be loaded: \(NavigationKind.allCases.map(\.rawValue).joined(separator: ", ")).")
    var kind = NavigationKind.link

    @Option(help: "Which frame would load it: \(FrameRole.allCases.map(\.rawValue).joined(separator: ", ")).")
    var frame = FrameRole.main

    func validate() throws {
        _ = try URLInput(arguments: urls, standardInput: stdin)
    }

    func run() async throws {
        let request = NavigateRequest(
            input: try URLInput(arguments: urls, standardInput: stdin),
            config: config,
            kind: kind,
            frame: frame
        )
        throw await NavigateProgram.status(of: request).code
    }
}
