import JSBridge
import Logging
import Signalbox
import SignalboxCore

/// Scripts in one page, from start to exit status.
enum BridgeProgram {
    /// Runs the scripts until the page is idle, and says how it went. Its diagnostics are out when it returns.
    static func status(of request: BridgeRequest, logger: Logger) async -> CommandStatus {
        do {
            var configuration = RunConfiguration()
            var source = PageSource.unconfigured
            if let file = request.config {
                configuration = try ConfigurationFile.read(file, for: .plugins)
                source = try PageSource.find(request.source, in: configuration, file: file)
            }
            let scripts = try ScriptFiles.read(request.scripts)
            let recorded = try request.expect.map(recordedRun)
            var page = source.script.page(from: source.name, scripts: scripts, limits: configuration.limits)
            page.endsWhenIdle = true
            let engine = try JavaScriptCoreEngine(page, logger: logger.withoutSecrets)
            let run = SingleSourceRun(
                configuration: configuration,
                adapter: engine,
                window: source.window,
                timeout: request.timeout,
                recorded: recorded,
                logger: logger
            )
            return try await run.status { judge($0, request, scriptErrors: engine.scriptErrors) }
        } catch {
            return await CommandRefusal(error).told()
        }
    }

    private static func recordedRun(_ path: String) throws(NamedFileError) -> RecordedRun {
        switch FileContent.read(path, limit: FileContent.recordLimit) {
        case .success(let bytes): return RecordedRun(bytes)
        case .failure(let error): throw NamedFileError(path: path, reason: "cannot be read: \(error)")
        }
    }

    private static func judge(_ report: SingleSourceReport, _ request: BridgeRequest, scriptErrors: Int)
        -> CommandStatus
    {
        if let status = report.early("the page was idle") { return report.isClosedByLimit ? .notAsExpected : status }
        var problems: [String] = []
        let summary = report.summary
        if let comparison = summary.comparison {
            problems += comparison.shown.flatMap(\.lines)
            if comparison.differences > 0 {
                problems.append("lines that are not as in \(request.expect ?? ""): \(comparison.differences)")
            }
        } else if summary.notHandled > 0 {
            problems.append("messages that were not handled: \(summary.notHandled) of \(summary.settled)")
        }
        if scriptErrors > 0 { problems.append("script errors: \(scriptErrors)") }
        for problem in problems { DiagnosticOutput.shared.tell(problem) }
        return problems.isEmpty ? .done : .notAsExpected
    }
}

extension SingleSourceReport {
    /// Whether the scripts used more time or memory than they may.
    fileprivate var isClosedByLimit: Bool {
        guard case .failed(let error as JSBridgeError) = source else { return false }
        return error.code == .executionTimeLimit || error.code == .heapLimit
    }
}
