import ArgumentParser
import BrowserBridge
import JSBridge
import Logging
import NavigationChain
import Signalbox
import SignalboxCore
import SignalboxRoutes

/// Runs one page for the command `bridge`.
struct BridgeRun {
    private let command: BridgeCommand
    private var configuration = RunConfiguration()
    /// The configuration section of the page.
    private var section: SourceSection
    private var script = ScriptSource(page: JavaScriptCoreConfiguration(source: "page", scripts: []))
    private let output = StandardOutput()
    private let logger: Logger

    /// Reads the configuration if the command has one.
    init(_ command: BridgeCommand) throws {
        self.command = command
        logger = Logger(ofCommandAt: command.logLevel, hasPlugins: command.config != nil)
        section = SourceSection(name: "page", kind: .script(script))
        guard let file = command.config else { return }
        configuration = try ConfigurationFile.read(file, for: .plugins)
        let none = "there is no script source; add one below 'sources', such as page: { script: {} }"
        (section, script) = try SourceChoice(kind: "script source", none: none, file: file)
            .one(command.source, in: configuration, \.script)
    }

    /// Runs the page until it ends, and returns the exit status.
    func status() async throws -> CommandStatus {
        switch command.engine {
        case .jsc: return try await scripts()
        case .webkitgtk: return try await webView()
        case .browser: return try await browser()
        }
    }

    /// Runs a page without a window.
    private func scripts() async throws -> CommandStatus {
        #if JavaScriptCore
        let scripts = try ScriptFiles.read(command.pages)
        let recorded = try command.expect.map { path throws(NamedFileError) in
            RecordedRun(try FileContent.bytes(of: path, limit: FileContent.recordLimit))
        }
        var page = script.page(running: scripts, isolation: .own)
        page.endsWhenIdle = true
        let engine = try JavaScriptCoreEngine(page, logger: logger.withoutSecrets)
        return try await status(of: engine, recorded: recorded) { engine.scriptErrors }
        #else
        throw CommandFailure(missing: .javaScriptCore, for: "the engine jsc")
        #endif
    }

    /// Logs the engine's limitations and runs the page.
    private func status(
        of adapter: any Adapter,
        recorded: RecordedRun? = nil,
        scriptErrors: () -> Int
    ) async throws -> CommandStatus {
        for limit in command.engine.limits(of: adapter.features) {
            logger.info("engine \(command.engine.rawValue): \(limit)")
        }
        var run = SingleSourceRun(configuration: configuration, adapter: adapter, output: output, logger: logger)
        run.window = section.window
        run.timeout = command.limits.timeout
        run.count = command.limits.count
        run.recorded = recorded
        return try status(of: try await run.report(), scriptErrors: scriptErrors())
    }

    private func status(of report: SingleSourceReport, scriptErrors: Int) throws(CommandFailure) -> CommandStatus {
        // Only a page that runs in JavaScriptCore ends by itself. It does so once it is idle.
        let isOpenEnded = command.engine != .jsc
        let isComplete = command.limits.count.map { report.summary.settled >= $0 } ?? isOpenEnded
        if !(isComplete && report.endedOnRequest) {
            do throws(CommandFailure) {
                try report.check(isOpenEnded ? "--count was reached" : "the page was idle")
            } catch {
                throw report.isClosedByLimit ? CommandFailure(.notAsExpected, error.description) : error
            }
        }
        var problems: [String] = []
        let summary = report.summary
        if let comparison = summary.comparison {
            problems += comparison.shown
            if comparison.differences > 0 {
                problems.append("lines that differ from \(command.expect ?? ""): \(comparison.differences)")
            }
        } else if summary.notHandled > 0 {
            problems.append("messages that were not handled: \(summary.notHandled) of \(summary.settled)")
        }
        if scriptErrors > 0 { problems.append("script errors: \(scriptErrors)") }
        guard problems.isEmpty else { throw CommandFailure(.notAsExpected, problems.joined(separator: "\n")) }
        return .done
    }
}

extension SingleSourceReport {
    /// Whether the scripts exceeded their time or memory limit.
    fileprivate var isClosedByLimit: Bool {
        guard let error = session.failure as? JSBridgeError else { return false }
        return error.code == .executionTimeLimit || error.code == .heapLimit
    }
}

extension BridgeRun {
    #if WebKitGTK
    /// Runs a page in a window of this program.
    private func webView() async throws -> CommandStatus {
        let page = command.pages[0]
        if page.hasPrefix("http://") || page.hasPrefix("https://") { return try await webView(showing: page) }
        return try await SiteServer.serving(try SiteFiles.read(page), logger) { port in
            try await webView(showing: "http://127.0.0.1:\(port)/")
        }
    }

    private func webView(showing text: String) async throws -> CommandStatus {
        var view = WebViewConfiguration(source: section.name, page: try bridge(showing: text))
        view.display = .window(width: 1_024, height: 768)
        view.limits = configuration.limits
        view.bytesInFlight = max(view.bytesInFlight, view.limits.bytes)
        view.messagesToPage = script.page.messagesToPage
        view.messagesWithoutListener = script.page.messagesWithoutListener
        let engine = try WebKitGTKEngine(view, logger: logger.withoutSecrets) { [output] request, verdict in
            output.offer(NavigationLine(request: request, verdict: verdict).line(isTerminal: output.isTerminal))
        }
        return try await status(of: engine) { engine.scriptErrors }
    }

    private func bridge(showing text: String) throws -> BridgeConfiguration {
        let url = try ValidationError.checked("the page is not a valid URL") { try URLText(text) }
        var configurator = BridgeConfigurator()
        if let own = url.origin { configurator.set(origins: [own] + (try command.origins())) }
        configurator.set(title: script.page.title)
        // The page gets a handler for each action that it is allowed to call.
        for plugin in configuration.plugins.prefix(BridgeConfigurator.maximumHandlers) {
            configurator.add(handler: BridgeHandler(plugin.action))
        }
        if let navigation = configuration.navigation { configurator.set(navigation: navigation) }
        return try configurator.build(url: url)
    }
    #else
    private func webView() async throws -> CommandStatus {
        throw CommandFailure(
            .unavailable,
            "this signalbox was built without web views; build it with: swift build --traits default,WebKitGTK (requires "
                + "libwebkit2gtk-4.1-dev), or use --engine browser"
        )
    }
    #endif

    /// Serves a page to the browser that opens the address of the page.
    private func browser() async throws -> CommandStatus {
        var browser = BrowserConfiguration(
            source: section.name,
            documents: try SiteFiles.read(command.pages[0])
        )
        browser.allowsInlineCode = true
        browser.origins = try command.origins()
        browser.limits = configuration.limits
        browser.messagesToPage = script.page.messagesToPage
        browser.messagesWithoutListener = script.page.messagesWithoutListener
        let engine = try BrowserEngine(browser, logger: logger.withoutSecrets)
        // Anyone who has the address can use the page, so the address is written to stderr and not logged.
        let address = Task {
            if let url = try? await engine.url() { DiagnosticOutput.shared.report("open \(url)", level: .info) }
        }
        defer { address.cancel() }
        return try await status(of: engine) { 0 }
    }
}
