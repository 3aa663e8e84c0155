public import ArgumentParser
public import NavigationChain
import SignalboxRoutes

/// The command `signalbox navigate CONFIG URL...`.
struct NavigateCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "navigate",
        abstract: "Shows what the navigation chain decides for URLs.",
        usage: "signalbox navigate [<options>] <config> [<url> ...]",
        discussion: """
            One JSON object per URL, in order: url (or input, if it is refused), policy (allow, cancel or download), \
            decider, reason, trace. Opens nothing: a reason shows what would be opened.

            EXAMPLE
              signalbox navigate examples/links/links.yaml https://shop.example/cart

            \(CommandStatus.help([
                .done, .notAsExpected, .usage, .invalidConfiguration, .unreadableFile, .outputFailed,
            ], of: "navigate"))
            """
    )

    @Argument(
        help: ArgumentHelp("The configuration; only its 'navigation' is required.", valueName: "config"),
        completion: .configuration
    )
    var config: String

    @OptionGroup var input: URLArguments

    @Option(help: "The reason for loading the URL.")
    var kind = NavigationKind.link

    @Option(help: "The frame that would load it.")
    var frame = FrameRole.main

    @OptionGroup(title: "Diagnostics")
    var diagnostics: DiagnosticArguments

    func validate() throws {
        try MixedArguments.validate(first: config)
    }

    func perform() async throws -> CommandStatus {
        let configuration = try ConfigurationFile.read(config, for: .navigation)
        guard let router = configuration.navigation else {
            throw CommandFailure(.invalidConfiguration, "\(config): there is no navigation chain; add 'navigation'")
        }
        let output = StandardOutput()
        return try await input.write(to: output) { line in
            let line = VerdictLine(input: line, verdict: await verdict(about: line, router))
            return (output.isTerminal ? line.terminalLine : line.jsonLine, isBad: line.verdict.policy == .cancel)
        }
    }

    /// Returns the navigation chain's verdict. A line that is not valid text cannot be a URL, so it is refused.
    private func verdict(about line: InputLine, _ router: NavigationRouter) async -> NavigationVerdict {
        do throws(URLTextError) {
            return await router.decide(try line.text(), kind: kind, frame: frame)
        } catch {
            return NavigationVerdict(refused: "", because: error)
        }
    }
}

extension NavigationKind: ExpressibleByArgument {}
extension FrameRole: ExpressibleByArgument {}
