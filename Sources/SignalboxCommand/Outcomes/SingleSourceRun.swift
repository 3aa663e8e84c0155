import Logging
import Signalbox
import SignalboxCore

/// Runs one source with the configured plugins until the source ends, and writes a line for each arrival.
struct SingleSourceRun {
    /// The configuration that supplies the plugins and limits. Its sources are ignored.
    let configuration: RunConfiguration
    let adapter: any Adapter
    /// Where the lines are written.
    var output = StandardOutput()
    let logger: Logger
    /// The limits on pending arrivals, including arrivals whose lines are waiting for an earlier one.
    var window = WindowLimits()
    /// How long to wait before stopping the source, or `nil` for no limit.
    var timeout: Duration?
    /// How many lines to write before stopping the source, or `nil` for no limit.
    var count: Int?
    /// Called when the last of these lines is handed to stdout. It must not block.
    var onCountReached: @Sendable () -> Void = {}
    /// A stream that yields when the source must stop for a different reason.
    var stop = AsyncStream.makeStream(of: Void.self)
    /// The lines to compare with, or `nil` for no comparison.
    var recorded: RecordedRun?

    /// Runs the source until it ends.
    ///
    /// - Throws: ``AppendLogError`` or `RegistrationError` if the supervisor cannot be set up.
    func report() async throws -> SingleSourceReport {
        let outcomes = OrderedOutcomes(window: window, output: output, recorded: recorded, limit: count) {
            onCountReached()
            stop.continuation.yield()
        }
        let source = OrderedSource(adapter, outcomes: outcomes)
        let builder = SupervisorBuilder(configuration: configuration, printing: nil, logger: logger)
        builder.targets.store(adapter)
        let supervisor = try builder.supervisor { outcomes.record($0) }
        try supervisor.add(source, window: window)
        var session = SupervisorSession(supervisor: supervisor, output: output, timeout: timeout)
        session.untilReady = { await builder.processes.untilReady() }
        if adapter.source != builder.processes.messages.source { try builder.addProcessMessages(to: supervisor) }
        var end = await session.run(stop: stop.stream) { await builder.processes.run() }
        end.failure = end.failure ?? source.failure
        return SingleSourceReport(
            session: end,
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
    /// The summary of the lines that were handed to stdout.
    let summary: OutcomeSummary

    /// Whether the source stopped because it was asked to, and nothing failed.
    var endedOnRequest: Bool { !isComplete && session.failure == nil && session.lost == nil }

    /// Checks that the source ended by itself.
    ///
    /// - Throws: ``CommandFailure`` with the reason why the source ended early.
    func check(_ whatEnded: String) throws(CommandFailure) {
        if let failure = session.failure { throw CommandFailure(.unavailable, failure.commandText) }
        if let lost = session.lost { throw CommandFailure(.outputFailed, "\(lost)") }
        guard !isComplete else { return }
        let reason = session.interruption ?? .unavailable
        throw CommandFailure(
            reason,
            reason == .timeout ? "timed out before \(whatEnded)" : "ended before \(whatEnded)"
        )
    }
}
