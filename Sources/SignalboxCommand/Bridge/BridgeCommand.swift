import ArgumentParser
import Logging
import SignalboxCore
import SignalboxRoutes

/// `signalbox bridge PAGE...`.
struct BridgeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bridge",
        abstract: "Runs a page, and shows what became of each of its messages and where it wanted to go.",
        discussion: """
            With --engine jsc, which is the default, PAGE is scripts, which run in order, in one page without a document, \
            until no timer and no call is left. With webkitgtk it is an HTML file, a folder with an index.html, or an http \
            URL, shown in a window; with browser a file or folder, which is served to whatever browser opens the address \
            that is told. These run until a signal, --timeout or --count.

            One JSON object per message, in the order in which they were sent: source, action, id, body, outcome, reason, \
            detail, path, reply. The lines have no times, so the same scripts give the same lines. With webkitgtk also one per \
            navigation: navigation, kind, frame, policy, decider, reason, trace. With --config the page may call the \
            configuration's plugins, and its navigation chain is asked, without opening anything; its other sources are left \
            alone. Without it every message ends as unknownAction, and only pages of the page's own origin load.

            EXAMPLE
              signalbox bridge examples/tour/page.js --config examples/tour/page.yaml
              signalbox bridge site/ --engine browser --config page.yaml

            \(CommandStatus.help([
                .done, .notAsExpected, .usage, .invalidConfiguration, .unreadableFile, .unavailable,
                .outputFailed, .timeout, .interrupted, .terminated,
            ]))
            """
    )

    @Argument(help: ArgumentHelp("Scripts; or one HTML file, folder or URL.", valueName: "page"))
    var pages: [String]

    @Option(help: "What it runs in: \(BridgeEngineChoice.allCases.map(\.rawValue).joined(separator: ", ")).")
    var engine = BridgeEngineChoice.jsc

    @Option(
        help: ArgumentHelp(
            "An origin whose pages get the bridge, besides the page's own; may be repeated.",
            valueName: "origin"
        )
    )
    var allowOrigin: [String] = []

    @Option(help: ArgumentHelp("The configuration whose plugins the page may call.", valueName: "file"))
    var config: String?

    @Option(help: ArgumentHelp("Which script source of the configuration the page is.", valueName: "name"))
    var source: String?

    @Option(help: ArgumentHelp("jsc: the lines of an earlier run, which these must equal.", valueName: "file"))
    var expect: String?

    @Option(help: "End the page after so many messages.")
    var count: Int?

    @Option(help: "End the page after this time: \(TimeoutOption.form).")
    var timeout: String?

    @Option(help: "The log level on stderr: \(LogChoice.allCases.map(\.rawValue).joined(separator: ", ")).")
    var logLevel = LogChoice.info

    func validate() throws {
        guard source == nil || config != nil else {
            throw ValidationError("--source is a name in a configuration; say which with --config")
        }
        guard count.map({ $0 >= 1 }) ?? true else { throw ValidationError("--count is at least 1") }
        if engine == .jsc {
            guard allowOrigin.isEmpty else {
                throw ValidationError("--allow-origin is about pages; scripts of --engine jsc have no origin")
            }
        } else {
            guard pages.count == 1 else { throw ValidationError("--engine \(engine.rawValue) shows one page") }
            guard expect == nil else { throw ValidationError("--expect compares runs of --engine jsc alone") }
        }
        _ = try request()
    }

    func run() async throws {
        let status = await BridgeProgram.status(of: try request(), logger: logLevel.logger)
        throw status.code
    }

    private func request() throws -> BridgeRequest {
        BridgeRequest(
            engine: engine,
            pages: pages,
            origins: try allowOrigin.map { text in
                do throws(URLTextError) {
                    return try WebOrigin(text)
                } catch {
                    throw ValidationError("--allow-origin: \(error)")
                }
            },
            config: config,
            source: source,
            expect: expect,
            timeout: try timeout.map(TimeoutOption.duration),
            count: count
        )
    }
}

/// The arguments of `bridge`.
struct BridgeRequest: Sendable {
    /// The engine that runs the page.
    let engine: BridgeEngineChoice
    /// The scripts to run, in this order. For an engine with documents, one page: a file, a folder or a URL.
    let pages: [String]
    /// The origins whose pages get the bridge, besides the page's own.
    let origins: [WebOrigin]
    /// The path of the configuration, if any.
    let config: String?
    /// The name of the script source in the configuration that the page stands for.
    let source: String?
    /// The path of the recorded run.
    let expect: String?
    /// The maximum time the page runs.
    let timeout: Duration?
    /// The number of messages after which the page ends.
    let count: Int?
}

/// The engine that runs a page of `bridge`.
enum BridgeEngineChoice: String, CaseIterable, Sendable, ExpressibleByArgument {
    /// JavaScriptCore, for scripts without a document.
    case jsc
    /// A web view in this process.
    case webkitgtk
    /// Any browser in which the user opens the page.
    case browser

    /// Returns descriptions of the engine's limitations, which are logged before the page starts.
    func limits(of features: AdapterFeatures) -> [String] {
        let navigation = features.contains(.navigates) ? [] : ["navigation: not asked"]
        return switch self {
        case .jsc: navigation + ["documents: none, scripts only"]
        case .webkitgtk: navigation
        case .browser: navigation + ["frames of other origins: not told apart"]
        }
    }
}
