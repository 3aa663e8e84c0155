import JSBridge
import Logging
import Signalbox
import SignalboxCore

/// A page from start to exit status.
enum BridgeProgram {
    /// What a page is made of, whatever it runs in.
    struct Parts {
        let request: BridgeRequest
        let configuration: RunConfiguration
        let source: PageSource
        let output: StandardOutput
        let logger: Logger
    }

    /// Runs the page to its end, and says how it went. Its diagnostics are out when it returns.
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
            return await CommandRefusal(error).told()
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
            in: .own
        )
        page.endsWhenIdle = true
        let engine = try JavaScriptCoreEngine(page, logger: parts.logger.withoutSecrets)
        let run = parts.run(engine, recorded: recorded)
        return try await run.status { judge($0, parts, isOpenEnded: false, scriptErrors: engine.scriptErrors) }
    }

    private static func recordedRun(_ path: String) throws(NamedFileError) -> RecordedRun {
        switch FileContent.read(path, limit: FileContent.recordLimit) {
        case .success(let bytes): return RecordedRun(bytes)
        case .failure(let error): throw NamedFileError(path: path, reason: "cannot be read: \(error)")
        }
    }

    /// - Parameter isOpenEnded: a page that ends when it is asked to, and not by itself.
    static func judge(
        _ report: SingleSourceReport,
        _ parts: Parts,
        isOpenEnded: Bool,
        scriptErrors: Int
    ) -> CommandStatus {
        let isEnough = parts.request.count.map { report.written >= $0 } ?? isOpenEnded
        if !(isEnough && report.endedAsAsked), let status = report.early(isOpenEnded ? "--count" : "the page was idle")
        {
            return report.isClosedByLimit ? .notAsExpected : status
        }
        var problems: [String] = []
        let summary = report.summary
        if let comparison = summary.comparison {
            problems += comparison.shown.flatMap(\.lines)
            if comparison.differences > 0 {
                problems.append("lines that are not as in \(parts.request.expect ?? ""): \(comparison.differences)")
            }
        } else if summary.notHandled > 0 {
            problems.append("messages that were not handled: \(summary.notHandled) of \(summary.settled)")
        }
        if scriptErrors > 0 { problems.append("script errors: \(scriptErrors)") }
        for problem in problems { DiagnosticOutput.shared.tell(problem) }
        return problems.isEmpty ? .done : .notAsExpected
    }
}

extension BridgeProgram.Parts {
    /// The run of the page, after telling what its engine cannot do.
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
    /// Whether the scripts used more time or memory than they may.
    fileprivate var isClosedByLimit: Bool {
        guard case .failed(let error as JSBridgeError) = source else { return false }
        return error.code == .executionTimeLimit || error.code == .heapLimit
    }

    /// Whether nothing else ended it than what it was asked to end by, or its own end.
    fileprivate var endedAsAsked: Bool {
        guard case .stopped = source, lost == nil else { return false }
        if case .failed = session { return false }
        return true
    }
}
