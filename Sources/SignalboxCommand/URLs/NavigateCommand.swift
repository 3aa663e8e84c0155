public import ArgumentParser
public import NavigationChain
import SignalboxRoutes

/// `signalbox navigate URL...`.
struct NavigateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "navigate",
        abstract: "Shows what the navigation chain decides for URLs.",
        discussion: """
            One JSON object per URL, in order: url (or input, if it is refused), policy (allow, cancel or download), \
            decider, reason, trace. Opens nothing: a reason shows what would be opened.

            EXAMPLE
              signalbox navigate https://shop.example/cart --config examples/links/links.yaml

            \(CommandStatus.help([
                .done, .notAsExpected, .usage, .invalidConfiguration, .unreadableFile, .outputFailed,
            ]))
            """
    )

    @Argument(help: ArgumentHelp("URLs; write '--' before those that begin with '-'.", valueName: "url"))
    var urls: [String] = []

    @Flag(help: "Read a URL from each line of stdin; an empty line is cancelled.")
    var stdin = false

    @Option(help: ArgumentHelp("The configuration; only its 'navigation' is required.", valueName: "file"))
    var config: String

    @Option(help: "The reason for loading the URL: \(NavigationKind.allCases.map(\.rawValue).joined(separator: ", ")).")
    var kind = NavigationKind.link

    @Option(help: "The frame that would load it: \(FrameRole.allCases.map(\.rawValue).joined(separator: ", ")).")
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

extension NavigationKind: ExpressibleByArgument {}
extension FrameRole: ExpressibleByArgument {}

extension NavigationSection {
    /// Returns the navigation chain with openers that do nothing.
    ///
    /// - Parameter file: The path of the configuration, for error messages.
    func dryRun(file: String) throws(CommandFailure) -> NavigationRouter {
        do throws(NavigationChainError) {
            return try dryRun()
        } catch {
            throw CommandFailure(.invalidConfiguration, "\(file): \(error)")
        }
    }
}

/// The arguments of `navigate`.
struct NavigateRequest: Sendable {
    let input: URLInput
    /// The path of the configuration with the chain.
    let config: String
    let kind: NavigationKind
    let frame: FrameRole
}

/// The `navigate` command, from the first URL to the exit status.
enum NavigateProgram {
    /// Prints the verdict for each URL. Opens nothing. All diagnostics are written when it returns.
    static func status(of request: NavigateRequest) async -> CommandStatus {
        let router: NavigationRouter
        do {
            router = try chain(in: request.config)
        } catch {
            return await error.report()
        }
        let output = StandardOutput()
        return await URLLines(input: request.input, output: output).status { line in
            let verdict = await verdict(about: line, router, request)
            return URLLines.Line(
                bytes: output.isTerminal ? verdict.terminalLine : verdict.jsonLine,
                isBad: verdict.policy == .cancel
            )
        }
    }

    private static func chain(in file: String) throws(CommandFailure) -> NavigationRouter {
        let configuration = try ConfigurationFile.read(file, for: .navigation)
        guard let navigation = configuration.navigation else {
            throw CommandFailure(.invalidConfiguration, "\(file): there is no navigation chain; add 'navigation'")
        }
        return try navigation.dryRun(file: file)
    }

    private static func verdict(
        about line: InputLine,
        _ router: NavigationRouter,
        _ request: NavigateRequest
    ) async -> VerdictLine {
        do throws(URLTextError) {
            let text = try line.text()
            return VerdictLine(line, await router.decide(text, kind: request.kind, frame: request.frame))
        } catch {
            return VerdictLine(line, refused: error)
        }
    }
}
