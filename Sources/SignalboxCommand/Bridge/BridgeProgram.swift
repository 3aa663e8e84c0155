import BrowserBridge
import JSBridge
import Logging
import NavigationChain
import Signalbox
import SignalboxCore
import SignalboxRoutes

/// The `bridge` command, from start to exit status.
enum BridgeProgram {
    /// The parts of a run that are the same for every engine.
    struct Parts {
        let request: BridgeRequest
        let configuration: RunConfiguration
        let source: PageSource
        let output: StandardOutput
        let logger: Logger
    }

    /// Runs the page to its end and returns the exit status. All diagnostics are written when it returns.
    static func status(of request: BridgeRequest, logger: Logger) async -> CommandStatus {
        do {
            var configuration = RunConfiguration()
            var source = PageSource.unconfigured
            if let file = request.config {
                configuration = try ConfigurationFile.read(file, for: .plugins)
                source = try PageSource.find(request.source, in: configuration, file: file)
            }
            let parts = Parts(
                request: request,
                configuration: configuration,
                source: source,
                output: StandardOutput(),
                logger: logger
            )
            switch request.engine {
            case .jsc: return try await scripts(parts)
            case .webkitgtk: return try await webView(parts)
            case .browser: return try await browser(parts)
            }
        } catch {
            return await CommandFailure(error).report()
        }
    }

    private static func scripts(_ parts: Parts) async throws -> CommandStatus {
        let request = parts.request
        let scripts = try ScriptFiles.read(request.pages)
        let recorded = try request.expect.map(recordedRun)
        var page = parts.source.script.page(
            from: parts.source.name,
            scripts: scripts,
            limits: parts.configuration.limits,
            isolation: .own
        )
        page.endsWhenIdle = true
        let engine = try JavaScriptCoreEngine(page, logger: parts.logger.withoutSecrets)
        let run = parts.run(engine, recorded: recorded)
        return try await run.status { exitStatus($0, parts, isOpenEnded: false, scriptErrors: engine.scriptErrors) }
    }

    private static func recordedRun(_ path: String) throws(NamedFileError) -> RecordedRun {
        switch FileContent.read(path, limit: FileContent.recordLimit) {
        case .success(let bytes): return RecordedRun(bytes)
        case .failure(let error): throw NamedFileError(path: path, reason: "cannot be read: \(error)")
        }
    }

    /// - Parameter isOpenEnded: Whether the page ends only on request.
    static func exitStatus(
        _ report: SingleSourceReport,
        _ parts: Parts,
        isOpenEnded: Bool,
        scriptErrors: Int
    ) -> CommandStatus {
        let isComplete = parts.request.count.map { report.written >= $0 } ?? isOpenEnded
        if !(isComplete && report.endedOnRequest),
            let status = report.earlyEndStatus(isOpenEnded ? "--count was reached" : "the page was idle")
        {
            return report.isClosedByLimit ? .notAsExpected : status
        }
        var problems: [String] = []
        let summary = report.summary
        if let comparison = summary.comparison {
            problems += comparison.shown.flatMap(\.lines)
            if comparison.differences > 0 {
                problems.append("lines that differ from \(parts.request.expect ?? ""): \(comparison.differences)")
            }
        } else if summary.notHandled > 0 {
            problems.append("messages that were not handled: \(summary.notHandled) of \(summary.settled)")
        }
        if scriptErrors > 0 { problems.append("script errors: \(scriptErrors)") }
        for problem in problems { DiagnosticOutput.shared.report(problem) }
        return problems.isEmpty ? .done : .notAsExpected
    }
}

extension BridgeProgram.Parts {
    /// Logs the engine's limitations and returns the run of the page.
    func run(_ adapter: any Adapter, recorded: RecordedRun? = nil) -> SingleSourceRun {
        for limit in request.engine.limits(of: adapter.features) {
            logger.info("engine \(request.engine.rawValue): \(limit)")
        }
        return SingleSourceRun(
            configuration: configuration,
            adapter: adapter,
            window: source.window,
            output: output,
            timeout: request.timeout,
            count: request.count,
            recorded: recorded,
            logger: logger
        )
    }
}

extension SingleSourceReport {
    /// Whether the scripts exceeded their time or memory limit.
    fileprivate var isClosedByLimit: Bool {
        guard case .failed(let error as JSBridgeError) = source else { return false }
        return error.code == .executionTimeLimit || error.code == .heapLimit
    }

    /// Whether the source stopped on request and nothing failed.
    fileprivate var endedOnRequest: Bool {
        guard case .stopped = source, lost == nil else { return false }
        if case .failed = session { return false }
        return true
    }
}

extension BridgeProgram {
    #if WebKitGTK
    /// Runs a page in a window of this program.
    static func webView(_ parts: Parts) async throws -> CommandStatus {
        let page = parts.request.pages[0]
        if page.hasPrefix("http://") || page.hasPrefix("https://") {
            return try await webView(parts, showing: page)
        }
        let site = try SiteFiles.read(page)
        return try await SiteServer.serving(site.documents, parts.logger) { port in
            try await webView(parts, showing: "http://127.0.0.1:\(port)/")
        }
    }

    private static func webView(_ parts: Parts, showing text: String) async throws -> CommandStatus {
        var view = WebViewConfiguration(source: parts.source.name, page: try bridge(parts, showing: text))
        view.display = .window(width: 1_024, height: 768)
        view.limits = parts.configuration.limits
        view.bytesInFlight = max(view.bytesInFlight, view.limits.bytes)
        view.messagesToPage = parts.source.script.messagesToPage ?? view.messagesToPage
        view.messagesWithoutListener = parts.source.script.messagesWithoutListener ?? view.messagesWithoutListener
        let output = parts.output
        let engine = try WebKitGTKEngine(view, logger: parts.logger.withoutSecrets) { request, verdict in
            output.offer(NavigationLine(request, verdict).line(isTerminal: output.isTerminal))
        }
        return try await parts.run(engine).status {
            exitStatus($0, parts, isOpenEnded: true, scriptErrors: engine.scriptErrors)
        }
    }

    private static func bridge(_ parts: Parts, showing text: String) throws -> BridgeConfiguration {
        let url: URLText
        do throws(URLTextError) {
            url = try URLText(text)
        } catch {
            throw CommandFailure(.usage, "the page is not a valid URL: \(error)")
        }
        var configurator = BridgeConfigurator()
        if let own = url.origin { configurator.set(origins: [own] + parts.request.origins) }
        configurator.set(title: parts.source.script.title)
        // The page gets a handler for each action that it may call.
        for plugin in parts.configuration.plugins.prefix(BridgeConfigurator.maximumHandlers) {
            configurator.add(handler: BridgeHandler(plugin.action))
        }
        if let navigation = parts.configuration.navigation, let file = parts.request.config {
            configurator.set(navigation: try NavigateProgram.dryRun(of: navigation, file: file))
        }
        return try configurator.build(url: url)
    }
    #else
    static func webView(_ parts: Parts) async throws -> CommandStatus {
        throw CommandFailure(
            .unavailable,
            "this signalbox was built without web views; build it with: swift build --traits WebKitGTK (requires "
                + "libwebkit2gtk-4.1-dev), or use --engine browser"
        )
    }
    #endif
}

extension BridgeProgram {
    /// Serves a page to the browser that opens its address.
    static func browser(_ parts: Parts) async throws -> CommandStatus {
        let site = try SiteFiles.read(parts.request.pages[0])
        var browser = BrowserConfiguration(source: parts.source.name, documents: site.documents)
        browser.allowsInlineCode = true
        browser.origins = parts.request.origins
        browser.limits = parts.configuration.limits
        browser.messagesToPage = parts.source.script.messagesToPage ?? browser.messagesToPage
        browser.messagesWithoutListener =
            parts.source.script.messagesWithoutListener ?? browser.messagesWithoutListener
        let engine = try BrowserEngine(browser, logger: parts.logger.withoutSecrets)
        let run = parts.run(engine)
        // Written to stderr and not logged, because the address grants access.
        let address = Task {
            if let url = try? await engine.url() { DiagnosticOutput.shared.report("open \(url)") }
        }
        defer { address.cancel() }
        return try await run.status { exitStatus($0, parts, isOpenEnded: true, scriptErrors: 0) }
    }
}

/// The source that a page of `bridge` stands for: its name and limits.
struct PageSource: Sendable {
    let name: SourceName
    let script: ScriptSection
    let window: WindowLimits

    /// The source of a page without a configuration.
    static let unconfigured = PageSource(name: "page", script: ScriptSection(), window: WindowLimits())

    /// Returns the script source with the given name, or the only one if the name is `nil`.
    ///
    /// - Throws: ``CommandFailure`` if there is no such source, or if there are several and no name is given.
    static func find(_ name: String?, in configuration: RunConfiguration, file: String) throws(CommandFailure)
        -> PageSource
    {
        let pages = configuration.sources.compactMap { section -> (name: String, value: PageSource)? in
            guard case .script(let script) = section.kind else { return nil }
            return (section.name.text, PageSource(name: section.name, script: script, window: section.window))
        }
        let none = "there is no script source; add one below 'sources', such as page: { script: {} }"
        return try SourceChoice(kind: "script source", none: none, file: file).one(name, of: pages)
    }
}
