import ArgumentParser
import BrowserBridge
import JSBridge
import Logging
import NavigationChain
import Signalbox
import SignalboxCore
import SignalboxRoutes

/// The command `signalbox bridge PAGE... [CONFIG]`.
struct BridgeCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "bridge",
        abstract: "Runs a page and shows the outcome of each message and navigation.",
        usage: "signalbox bridge [<options>] <page> ...",
        discussion: """
            With --engine jsc, the default, PAGE is one or more scripts. They run in order, in one page without a \
            document, until no timer, call or message to the page is left. With webkitgtk, PAGE is an HTML file, a folder \
            with an index.html, or an http or https URL, shown in a window. With browser, it is a file or folder, served \
            to any browser that opens the address on stderr. These two engines run until a signal, --timeout or --count.

            One JSON object per message, in the order sent: source, action, id, body, outcome, reason, detail, path, \
            reply. Lines contain no times, so the same scripts produce the same lines. With webkitgtk also one line per \
            navigation: navigation, kind, frame, policy, decider, reason, trace. With CONFIG the page may call the \
            configuration's plugins, and the configuration's navigation chain decides about URLs without opening \
            anything; other sources do not run. Without CONFIG every message is rejected as unknownAction, and only \
            pages of the page's own origin load.

            EXAMPLES
              signalbox bridge examples/tour/page.js examples/tour/page.yaml
              signalbox bridge site/ page.yaml --engine browser

            \(CommandStatus.help([
                .done, .notAsExpected, .usage, .invalidConfiguration, .unreadableFile, .unavailable,
                .outputFailed, .timeout, .interrupted, .terminated,
            ], of: "bridge"))
            """
    )

    @Argument(
        help: ArgumentHelp(
            "Scripts; or one HTML file, folder or URL. And a configuration (.yaml or .yml).",
            valueName: "page"
        ),
        completion: .file()
    )
    var arguments: [String]

    @Option(help: "The engine.")
    var engine = BridgeEngineChoice.jsc

    @Option(
        help: ArgumentHelp(
            "Another origin whose pages get the bridge; may be repeated.",
            valueName: "origin"
        )
    )
    var allowOrigin: [String] = []

    @Option(help: ArgumentHelp("The name of the source in the configuration.", valueName: "name"))
    var source: String?

    @Option(
        help: ArgumentHelp("jsc: the lines of an earlier run to compare with.", valueName: "file"),
        completion: .file()
    )
    var expect: String?

    @OptionGroup var limits: LimitArguments

    @Option(help: "Log level on stderr.")
    var logLevel = Logger.Level.info

    @OptionGroup(title: "Diagnostics")
    var diagnostics: DiagnosticArguments

    /// The configuration's path, or `nil` if no argument names one.
    var config: String? { mixed.configuration }
    /// The scripts or the page. There is at least one.
    var pages: [String] { mixed.others }
    private var mixed: MixedArguments { MixedArguments(arguments) }

    func validate() throws {
        try mixed.validate(source: source)
        guard !pages.isEmpty else { throw ValidationError("there is no page; add a script, or see --engine") }
        if engine == .jsc {
            guard allowOrigin.isEmpty else {
                throw ValidationError("--allow-origin applies to pages; scripts of --engine jsc have no origin")
            }
        } else {
            guard pages.count == 1 else { throw ValidationError("--engine \(engine.rawValue) takes exactly one page") }
            guard expect == nil else { throw ValidationError("--expect requires --engine jsc") }
        }
        _ = try origins()
    }

    func perform() async throws -> CommandStatus {
        try await BridgeRun(self).status()
    }

    func origins() throws -> [WebOrigin] {
        try allowOrigin.map { text in try ValidationError.checked("--allow-origin") { try WebOrigin(text) } }
    }
}

/// The engine that runs the page in `bridge`.
enum BridgeEngineChoice: String, CaseIterable, Sendable, ExpressibleByArgument {
    /// Runs the page with JavaScriptCore, for scripts that need no document.
    case jsc
    /// Runs the page in a web view in this process.
    case webkitgtk
    /// Serves the page so that the user can open it in any browser.
    case browser

    /// Returns a description of each limitation of the engine. The command logs these before the page starts.
    func limits(of features: AdapterFeatures) -> [String] {
        let navigation = features.contains(.navigates) ? [] : ["navigation: not reported"]
        return switch self {
        case .jsc: navigation + ["documents: not supported, only scripts"]
        case .webkitgtk: navigation
        case .browser: navigation + ["frames of other origins: not distinguished"]
        }
    }
}
