import Logging
import Signalbox
import SignalboxCore

/// One action of the program's own, from its body to the exit status.
enum SendProgram {
    /// Sends the action to its plugin, and says how it went. Its diagnostics are out when it returns.
    static func status(of request: SendRequest, logger: Logger) async -> CommandStatus {
        do {
            let configuration = try ConfigurationFile.read(request.config, for: .plugins)
            let limits = configuration.limits
            let body = try await request.body.bytes(limit: limits.bytes)
            let run = SingleSourceRun(
                configuration: configuration,
                adapter: try InternalAdapter(request.action, id: request.id, body: body, limits: limits),
                timeout: request.timeout,
                logger: logger
            )
            return try await run.status { judge($0, request, configuration) }
        } catch {
            return await CommandRefusal(error).told()
        }
    }

    private static func judge(_ report: SingleSourceReport, _ request: SendRequest, _ configuration: RunConfiguration)
        -> CommandStatus
    {
        if let advice = advice(request, configuration) { DiagnosticOutput.shared.tell(advice) }
        if let status = report.early("the action had an outcome") { return status }
        return report.summary.settled == 1 && report.summary.notHandled == 0 ? .done : .notAsExpected
    }

    /// What to write into the configuration when the plugin is not for this source.
    private static func advice(_ request: SendRequest, _ configuration: RunConfiguration) -> String? {
        let plugin = configuration.plugins.first { $0.action == request.action }
        guard let plugin, !plugin.from.flatMap(\.sources).contains(SourceSection.internalName) else { return nil }
        let rule = "- source: \(SourceSection.internalName)"
        return "\(request.config): to allow it, add this line to 'from' of the plugin '\(plugin.action)': \(rule)"
    }
}
