import Logging
import Signalbox
import SignalboxCore
import SignalboxRoutes
import Synchronization
import WebSocketChat

/// Runs one source and writes each of its messages as one line, until it has written enough lines.
struct MessageRun {
    static let action: ActionName = "message"
    /// The maximum time that a message waits for a slow reader of stdout.
    static let outputTimeout: Duration = .seconds(3_600)

    let limits: LimitArguments
    let logger: Logger
    let output = StandardOutput()
    /// How a payload is written on its own, or `nil` to write the whole message.
    let raw: RawOutput?
    /// The limits of JSON in a payload.
    let messageLimits: MessageLimits
    /// The patterns whose captures of the topic are shown.
    var patterns: [TopicPattern] = []
    /// Whether the command reports the rate of messages on stderr once a second.
    var reportsRate = false
    /// A closure that is called once, after the last message of `limits.count` is written.
    var onCountReached: @Sendable () -> Void = {}
    /// A stream that yields when the source must stop for another reason.
    var stop = AsyncStream.makeStream(of: Void.self)

    /// Runs the source to its end. The run ends early when enough lines are written, the timeout expires, stdout is
    /// closed, or a signal arrives.
    func report(of adapter: any Adapter) async throws -> MessageReport {
        let plugin = MessagePlugin(self)
        var bounds = SupervisorConfiguration()
        bounds.timeout = MessageRun.outputTimeout
        bounds.ackDeadline = MessageRun.outputTimeout
        bounds.drainLimit = .seconds(2)
        let supervisor = Supervisor(configuration: bounds, logger: logger)
        try supervisor.register(Registration(plugin, from: .source(adapter.source)))
        try supervisor.add(adapter)
        var session = SupervisorSession(supervisor: supervisor, output: output, timeout: limits.timeout)
        session.onInterruption = { if $0 == .timeout { plugin.close() } }
        let end = await session.run(stop: stop.stream) {
            if reportsRate { await RateReporter { plugin.shown }.run() }
        }
        return MessageReport(limits: limits, end: end, shown: plugin.shown)
    }
}

/// Writes a line for each message to stdout until it has written enough. It discards later messages.
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

    /// The number of messages written.
    var shown: Int { state.withLock { $0.shown } }

    /// Discards all further messages.
    func close() {
        state.withLock { $0.isClosed = true }
    }

    func callAsAction(_ info: RawBody, context: ActionContext) async throws {
        guard !state.withLock({ $0.isClosed }) else { return }
        let record = MessageRecord(info, context, patterns: run.patterns, limits: run.messageLimits)
        try await run.output.write(record.line(run.raw, isTerminal: run.output.isTerminal))
        let isLast = state.withLock { state in
            state.shown += 1
            guard !state.isClosed, state.shown == run.limits.count else { return false }
            state.isClosed = true
            return true
        }
        guard isLast else { return }
        run.onCountReached()
        run.stop.continuation.yield()
    }
}

/// The result of a command that shows messages, with the exit status that follows from it.
struct MessageReport {
    let limits: LimitArguments
    /// How the session of the supervisor ended.
    let end: SupervisorSession.End
    /// The number of messages written.
    let shown: Int
    /// The number of lines that could not be sent.
    var unsent = 0
    /// The number of messages that were not handled.
    var notHandled = 0

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
        // Once enough messages were written, the reason for the end is irrelevant.
        if limits.count != nil, isFulfilled { return deliveryVerdict }
        if let error = end.failure {
            return (CommandStatus(connection: error), [(error as? WebSocketChatError)?.detail ?? "\(error)"])
        }
        let received = "\(shown) of \(limits.required) messages received"
        switch end.interruption {
        case .timeout?:
            let time = limits.timeout.map { " after \(DurationText.text($0))" } ?? ""
            return isFulfilled ? deliveryVerdict : (.timeout, ["timed out\(time): \(received)"])
        case let signal?:
            return !limits.isSet || isFulfilled ? deliveryVerdict : (signal, ["ended by a signal: \(received)"])
        case nil: break
        }
        guard limits.count != nil else { return deliveryVerdict }
        return (.notAsExpected, ["the server closed the connection: \(received)"])
    }

    /// The result if nothing else went wrong. Unsent lines were already reported one by one.
    private var deliveryVerdict: (status: CommandStatus, lines: [String]) {
        let lines = notHandled > 0 ? ["messages that were not handled: \(notHandled)"] : []
        return (unsent + notHandled > 0 ? .notAsExpected : .done, lines)
    }
}
