import Logging
import Signalbox
import SignalboxCore

/// One source with the plugins of a configuration: runs until the source has ended, and writes a line per arrival.
struct SingleSourceRun {
    /// Its plugins and bounds; its sources are left alone.
    let configuration: RunConfiguration
    let adapter: any Adapter
    /// How much of the source may be inside at once, lines that wait for an earlier one included.
    var window = WindowLimits()
    /// Where the lines go.
    var output = StandardOutput()
    /// After this time the source is asked to stop.
    let timeout: Duration?
    /// After so many lines the source is asked to stop.
    var count: Int?
    /// Called when the last of them is handed to stdout; must not block.
    var onEnough: @Sendable () -> Void = {}
    /// Yields when the source is to stop for another reason.
    var stop = AsyncStream<Void> { _ in }
    /// What the lines are compared with.
    var recorded: RecordedRun?
    let logger: Logger

    /// Runs to the end. Its diagnostics, those of `judge` too, are out when it returns.
    ///
    /// - Parameter judge: makes the status of what happened.
    /// - Throws: what could not be set up.
    func status(_ judge: (SingleSourceReport) -> CommandStatus) async throws -> CommandStatus {
        let (ends, stopper) = AsyncStream.makeStream(of: Void.self)
        let outcomes = OrderedOutcomes(window: window, output: output, recorded: recorded, limit: count) { [onEnough] in
            onEnough()
            stopper.yield()
        }
        let source = OrderedSource(adapter, outcomes: outcomes)
        let builder = SupervisorBuilder(configuration: configuration, printing: .diagnostics, logger: logger)
        let supervisor = try builder.supervisor { outcomes.note($0) }
        try supervisor.add(source, window: window)
        let signals = await SignalWatch.begin()
        let late = SignalNote()
        let timer = Task { [timeout] in
            guard let timeout, (try? await Task.sleep(for: timeout)) != nil else { return }
            _ = late.isFirst(.timeout)
            stopper.yield()
        }
        let session = SupervisorSession(supervisor: supervisor, output: output, logger: logger)
        let end = await session.run(signals, stop: ends) { [stop] in
            for await _ in stop { stopper.yield() }
        }
        timer.cancel()
        let report = SingleSourceReport(
            session: end,
            source: source.end,
            lost: await output.finish(),
            interruption: late.first ?? signals.first,
            written: outcomes.written,
            summary: outcomes.summary
        )
        let status = judge(report)
        await DiagnosticOutput.shared.flush()
        // Until here a second signal ends the program, whatever it waits for.
        withExtendedLifetime(signals) {}
        return status
    }
}

/// What happened in the run of one source.
struct SingleSourceReport {
    /// How the supervisor ended.
    let session: SupervisorSession.End
    /// How the source ended.
    let source: OrderedSource.End
    /// Why lines were lost, if any were.
    let lost: OutputFailure?
    /// What asked the source to stop, if anything did.
    let interruption: CommandStatus?
    /// How many lines were handed to stdout.
    let written: Int
    /// What became of its arrivals.
    let summary: OutcomeSummary

    /// The status when the run did not come to its own end, after telling why on stderr; else `nil`.
    func early(_ whatEnded: String) -> CommandStatus? {
        if case .failed(let error) = session {
            DiagnosticOutput.shared.tell("\(error)")
            return .unavailable
        }
        if let lost {
            DiagnosticOutput.shared.tell("\(lost)")
            return .outputFailed
        }
        guard case .stopped = source else { return nil }
        let reason = interruption ?? .unavailable
        DiagnosticOutput.shared.tell(
            reason == .timeout ? "the time passed before \(whatEnded)" : "ended before \(whatEnded)"
        )
        return reason
    }
}
