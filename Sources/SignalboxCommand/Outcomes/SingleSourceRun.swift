import Logging
import Signalbox
import SignalboxCore

/// Runs one source with the plugins of a configuration until the source ends, and writes a line per arrival.
struct SingleSourceRun {
    /// The configuration of plugins and limits; its sources are ignored.
    let configuration: RunConfiguration
    let adapter: any Adapter
    /// The destination of the lines.
    var output = StandardOutput()
    let logger: Logger
    /// The limits on pending arrivals, including lines that wait for an earlier one.
    var window = WindowLimits()
    /// The time after which the source is stopped.
    var timeout: Duration?
    /// The number of lines after which the source is stopped.
    var count: Int?
    /// Called when the last of these lines is handed to stdout; must not block.
    var onCountReached: @Sendable () -> Void = {}
    /// Yields when the source must stop for another reason.
    var stop = AsyncStream.makeStream(of: Void.self)
    /// The lines to compare with.
    var recorded: RecordedRun?

    /// Runs the source to its end.
    ///
    /// - Throws: ``AppendLogError`` or `RegistrationError` if the supervisor cannot be set up.
    func report() async throws -> SingleSourceReport {
        let outcomes = OrderedOutcomes(window: window, output: output, recorded: recorded, limit: count) {
            onCountReached()
            stop.continuation.yield()
        }
        let source = OrderedSource(adapter, outcomes: outcomes)
        let builder = SupervisorBuilder(configuration: configuration, printing: nil, logger: logger)
        let supervisor = try builder.supervisor { outcomes.record($0) }
        try supervisor.add(source, window: window)
        let session = SupervisorSession(supervisor: supervisor, output: output, timeout: timeout)
        return SingleSourceReport(
            session: await session.run(stop: stop.stream),
            isComplete: source.isComplete,
            summary: outcomes.summary
        )
    }
}

/// The result of running one source.
struct SingleSourceReport {
    /// How the supervisor session ended.
    let session: SupervisorSession.End
    /// Whether the source ended by itself.
    let isComplete: Bool
    /// The summary of the outcomes whose lines were handed to stdout.
    let summary: OutcomeSummary

    /// Whether the source stopped on request and nothing failed.
    var endedOnRequest: Bool { !isComplete && session.failure == nil && session.lost == nil }

    /// Checks that the source ended by itself.
    ///
    /// - Throws: ``CommandFailure`` with the reason of a premature end.
    func check(_ whatEnded: String) throws(CommandFailure) {
        if let failure = session.failure { throw CommandFailure(.unavailable, "\(failure)") }
        if let lost = session.lost { throw CommandFailure(.outputFailed, "\(lost)") }
        guard !isComplete else { return }
        let reason = session.interruption ?? .unavailable
        throw CommandFailure(
            reason,
            reason == .timeout ? "timed out before \(whatEnded)" : "ended before \(whatEnded)"
        )
    }
}
