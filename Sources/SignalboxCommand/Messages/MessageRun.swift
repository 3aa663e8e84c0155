import AdapterSupport
import Logging
import MQTTPush
import Signalbox
import SignalboxCore
import SignalboxRoutes
import Synchronization
import WebSocketChat

/// Runs one source and writes each message as one line, until enough lines are written.
struct MessageRun {
    static let action: ActionName = "message"
    /// The maximum time that a message waits if the reader of stdout is slow.
    static let outputTimeout: Duration = .seconds(3_600)

    let limits: LimitArguments
    let logger: Logger
    let output = StandardOutput()
    /// How to write a message.
    let form: MessageForm
    /// The limits for a JSON payload.
    let messageLimits: MessageLimits
    /// The patterns whose topic captures are shown.
    var patterns: [TopicPattern] = []
    /// The filters whose messages are neither shown nor counted.
    var excluded: [TopicFilter] = []
    /// Whether messages that are not retained are neither shown nor counted.
    var showsOnlyRetained = false
    /// The period without messages that ends the run, or `nil` if the run does not end so.
    var quiet: QuietPeriod?
    /// Returns since when the source can have messages, or `nil` while it cannot. The quiet period does not start earlier.
    var readySince: @Sendable () -> ContinuousClock.Instant? = { .now }
    /// Whether the command reports the message rate on stderr once a second.
    var reportsRate = false
    /// Called with each message before it is written.
    var onMessage: @Sendable (RawBody, ActionContext) -> Void = { _, _ in }
    /// Called with each message after it is written.
    var onWritten: @Sendable (ActionContext) async -> Void = { _ in }
    /// Whether messages that arrive after the last shown one stay at the source, which redelivers them to a later run.
    /// Otherwise they are discarded.
    var keepsLaterMessages = false
    /// Called once, after message number `limits.count` is written.
    var onCountReached: @Sendable () -> Void = {}
    /// A stream that yields when the source must stop for a different reason.
    var stop = AsyncStream.makeStream(of: Void.self)

    /// Runs the source until it ends. The run ends early when enough lines are written, the timeout expires, stdout is
    /// closed, or a signal arrives.
    func report(of adapter: any Adapter) async throws -> MessageReport {
        let plugin = MessagePlugin(self)
        var bounds = SupervisorConfiguration()
        bounds.timeout = MessageRun.outputTimeout
        bounds.ackDeadline = MessageRun.outputTimeout
        bounds.drainLimit = .seconds(2)
        let rejections = RejectionReporter(output: output)
        bounds.onOutcome = { rejections.report($0) }
        let supervisor = Supervisor(configuration: bounds, logger: logger)
        try supervisor.register(Registration(plugin, from: .source(adapter.source)))
        try supervisor.add(adapter)
        var session = SupervisorSession(supervisor: supervisor, output: output, timeout: limits.timeout)
        session.onInterruption = { if $0 == .timeout { plugin.close() } }
        let end = await session.run(stop: stop.stream) {
            async let rating: Void = reportRate(of: plugin)
            await endWhenQuiet()
            await rating
        }
        var report = MessageReport(limits: limits, end: end, shown: plugin.shown)
        report.endedQuietly = quiet?.isOver ?? false
        return report
    }

    private func reportRate(of plugin: MessagePlugin) async {
        if reportsRate { await RateReporter { plugin.shown }.run() }
    }

    private func endWhenQuiet() async {
        guard let quiet else { return }
        await quiet.wait(readySince: readySince)
        if quiet.isOver { stop.continuation.yield() }
    }
}

/// Writes a line for each message to stdout until enough lines are written.
final class MessagePlugin: Plugin {
    private struct State {
        var shown = 0
        var isClosed = false
    }

    let action = MessageRun.action
    private let run: MessageRun
    private let state = Mutex(State())

    init(_ run: MessageRun) {
        self.run = run
    }

    /// The number of messages that were written.
    var shown: Int { state.withLock { $0.shown } }

    /// Shows no further messages.
    func close() {
        state.withLock { $0.isClosed = true }
    }

    private func isExcluded(_ context: ActionContext) -> Bool {
        guard run.showsOnlyRetained || !run.excluded.isEmpty, let push = context.origin.facts as? PushFacts else {
            return false
        }
        if run.showsOnlyRetained, !push.retained { return true }
        return run.excluded.contains { $0.matches(push.topic) }
    }

    func callAsAction(_ info: RawBody, context: ActionContext) async throws {
        guard !state.withLock({ $0.isClosed }) else {
            if run.keepsLaterMessages { throw LaterMessage() }
            return
        }
        guard !isExcluded(context) else { return }
        guard let quiet = run.quiet else { return try await show(info, context) }
        try await quiet.interrupted { try await show(info, context) }
    }

    private func show(_ info: RawBody, _ context: ActionContext) async throws {
        run.onMessage(info, context)
        let record = MessageRecord(info, context, patterns: run.patterns, limits: run.messageLimits)
        try await run.output.write(record.bytes(run.form, isTerminal: run.output.isTerminal))
        state.withLock { $0.shown += 1 }
        await run.onWritten(context)
        let isLast = state.withLock { state in
            guard !state.isClosed, state.shown == run.limits.count else { return false }
            state.isClosed = true
            return true
        }
        guard isLast else { return }
        run.onCountReached()
        run.stop.continuation.yield()
    }
}

/// The reason why a message that arrived after the last shown one is given back to its source.
private struct LaterMessage: RetryableError {
    let isRetryable = false
    let whenExhausted = RetryExhaustion.abandon
}

/// Reports messages that cannot be shown, such as those that are too large. It is limited to 10 lines per second; a later
/// line says how many were left out. A line names no topic, which can contain a secret of the sender.
private final class RejectionReporter: Sendable {
    private let output: StandardOutput
    private let limiter = Mutex(LogRateLimiter(lines: 10))
    private let start = ContinuousClock.now

    init(output: StandardOutput) {
        self.output = output
    }

    func report(_ settled: SettledArrival) {
        // If stdout has failed, the command ends and reports the failure.
        guard output.failure.current == nil else { return }
        let reason: String
        switch settled.outcome {
        case .rejected(let rejection): reason = rejection.bodyError?.detail ?? rejection.detail
        case .failed(let failure): reason = failure.detail
        case .handled, .abandoned: return
        }
        guard let withheld = limiter.withLock({ $0.admit(at: .now - start) }) else { return }
        let more = withheld == 0 ? "" : " (\(withheld) similar lines were left out)"
        DiagnosticOutput.shared.report("a message is not shown: \(reason)\(more)", level: .warning)
    }
}

/// The result of a command that shows messages, and the exit status for that result.
struct MessageReport {
    let limits: LimitArguments
    /// How the supervisor session ended.
    let end: SupervisorSession.End
    /// The number of messages that were written.
    let shown: Int
    /// The number of lines that could not be sent.
    var unsent = 0
    /// The number of messages that were not handled.
    var notHandled = 0
    /// Whether this side closed the connection because the input had ended.
    var closedAfterInput = false
    /// Whether the run ended because no message had come for some time.
    var endedQuietly = false

    /// Reports the result on stderr.
    ///
    /// - Returns: The exit status.
    func report() -> CommandStatus {
        let (status, lines) = verdict
        for line in lines { DiagnosticOutput.shared.report(line) }
        return status
    }

    /// The exit status and the lines for stderr.
    var verdict: (status: CommandStatus, lines: [String]) {
        switch end.lost {
        case .closed?: return (.done, [])
        case let reason?: return (.outputFailed, ["\(reason)"])
        case nil: break
        }
        let isFulfilled = shown >= limits.required
        // Once enough messages are written, it no longer matters why the run ended.
        if limits.count != nil, isFulfilled { return deliveryVerdict }
        if let error = end.failure {
            return (CommandStatus(connection: error), [error.commandText])
        }
        let received =
            limits.required == 1 ? "no message received" : "\(shown) of \(limits.required) messages received"
        switch end.interruption {
        case .timeout?:
            let time = limits.timeout.map { " after \(DurationText.text($0))" } ?? ""
            return isFulfilled ? deliveryVerdict : (.timeout, ["timed out\(time): \(received)"])
        case let signal?:
            return !limits.isSet || isFulfilled ? deliveryVerdict : (signal, ["ended by a signal: \(received)"])
        case nil: break
        }
        guard limits.count != nil else { return deliveryVerdict }
        let closed = closedAfterInput ? "the input ended" : "the server closed the connection"
        let cause = endedQuietly ? "no more messages arrived" : closed
        return (.notAsExpected, ["\(cause): \(received)"])
    }

    /// The result if nothing else went wrong. Unsent lines have already been reported one by one.
    private var deliveryVerdict: (status: CommandStatus, lines: [String]) {
        let lines = notHandled > 0 ? ["messages that were not handled: \(notHandled)"] : []
        return (unsent + notHandled > 0 ? .notAsExpected : .done, lines)
    }
}
