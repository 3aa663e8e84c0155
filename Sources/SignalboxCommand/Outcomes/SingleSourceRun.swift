import Logging
import Signalbox
import SignalboxCore

/// Runs one source with the plugins of a configuration until the source ends, and writes a line per arrival.
struct SingleSourceRun {
    /// The configuration of plugins and limits; its sources are ignored.
    let configuration: RunConfiguration
    let adapter: any Adapter
    /// The limits on pending arrivals, including lines that wait for an earlier one.
    var window = WindowLimits()
    /// The destination of the lines.
    var output = StandardOutput()
    /// The time after which the source is stopped.
    let timeout: Duration?
    /// The number of lines after which the source is stopped.
    var count: Int?
    /// Called when the last of these lines is handed to stdout; must not block.
    var onCountReached: @Sendable () -> Void = {}
    /// Yields when the source must stop for another reason.
    var stop = AsyncStream<Void> { _ in }
    /// The lines to compare with.
    var recorded: RecordedRun?
    let logger: Logger

    /// Runs the source to its end. All diagnostics, including those of `exitStatus`, are flushed before it returns.
    ///
    /// - Parameter exitStatus: Returns the exit status for the report.
    /// - Throws: ``AppendLogError`` or `RegistrationError` if the supervisor cannot be set up.
    func status(_ exitStatus: (SingleSourceReport) -> CommandStatus) async throws -> CommandStatus {
        let (ends, stopper) = AsyncStream.makeStream(of: Void.self)
        let outcomes = OrderedOutcomes(window: window, output: output, recorded: recorded, limit: count) {
            [onCountReached] in
            onCountReached()
            stopper.yield()
        }
        let source = OrderedSource(adapter, outcomes: outcomes)
        let builder = SupervisorBuilder(configuration: configuration, printing: .diagnostics, logger: logger)
        let supervisor = try builder.supervisor { outcomes.record($0) }
        try supervisor.add(source, window: window)
        let signals = await WatchedSignals.begin()
        let interruption = InterruptionRecord()
        let timer = Task { [timeout] in
            guard let timeout, (try? await Task.sleep(for: timeout)) != nil else { return }
            _ = interruption.record(.timeout)
            stopper.yield()
        }
        let session = ServiceSession(supervisor: supervisor, output: output, logger: logger)
        let end = await session.run(signals, stop: ends) { [stop] in
            for await _ in stop { stopper.yield() }
        }
        timer.cancel()
        let report = SingleSourceReport(
            session: end,
            source: source.end,
            lost: await output.finish(),
            interruption: interruption.first ?? signals.first,
            written: outcomes.written,
            summary: outcomes.summary
        )
        let status = exitStatus(report)
        await DiagnosticOutput.shared.flush()
        // Until this point, a second signal ends the process immediately.
        withExtendedLifetime(signals) {}
        return status
    }
}

/// The result of running one source.
struct SingleSourceReport {
    /// How the supervisor session ended.
    let session: ServiceSession.End
    /// How the source's run ended.
    let source: OrderedSource.End
    /// The reason that lines were lost, if any were.
    let lost: OutputFailure?
    /// The status of the timeout or signal that stopped the source, if any.
    let interruption: CommandStatus?
    /// The number of lines handed to stdout.
    let written: Int
    /// The summary of the outcomes.
    let summary: OutcomeSummary

    /// Reports a premature end on stderr and returns its status, or returns `nil` if the source ended by itself.
    func earlyEndStatus(_ whatEnded: String) -> CommandStatus? {
        if case .failed(let error) = session {
            DiagnosticOutput.shared.report("\(error)")
            return .unavailable
        }
        if let lost {
            DiagnosticOutput.shared.report("\(lost)")
            return .outputFailed
        }
        guard case .stopped = source else { return nil }
        let reason = interruption ?? .unavailable
        DiagnosticOutput.shared.report(
            reason == .timeout ? "timed out before \(whatEnded)" : "ended before \(whatEnded)"
        )
        return reason
    }
}
