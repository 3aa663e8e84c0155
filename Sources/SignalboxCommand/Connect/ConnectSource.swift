import AdapterSupport
import Logging
import SignalboxCore
import Synchronization
import WebSocketChat

/// Runs the feed of the command `connect`. It passes received messages to the supervisor, and sends the user's lines to
/// the server.
final class ConnectSource: Adapter {
    private let feed: WebSocketFeed
    private let keepsConnections: Bool
    private let onAnswer: (@Sendable (Bytes) -> Void)?
    private let output: StandardOutput
    private let watch = ConnectionWatch()
    private let outgoing: OutgoingLines
    private let options: OutgoingArguments

    /// - Parameters:
    ///   - configuration: The configuration of the connection.
    ///   - hasCount: Whether `--count` ends the command.
    ///   - output: Where messages are written. Once the reader closes its end, messages are discarded.
    ///   - stop: Yields to request the end of the run.
    ///   - onAnswer: Receives the outcomes of sent messages. If `nil`, outcomes are treated like other messages.
    /// - Throws: `WebSocketChatError` `invalidConfiguration`.
    init(
        _ configuration: WebSocketFeedConfiguration,
        outgoing input: OutgoingInput,
        hasCount: Bool,
        logger: Logger,
        output: StandardOutput,
        stop: AsyncStream<Void>.Continuation,
        onAnswer: (@Sendable (Bytes) -> Void)? = nil
    ) throws(WebSocketChatError) {
        var watched = configuration
        watched.announcesConnections = true
        watched.firstConnectionMustSucceed = configuration.reconnect == nil
        feed = try WebSocketFeed(watched, logger: logger)
        keepsConnections = !configuration.announcesConnections
        self.onAnswer = onAnswer
        self.output = output
        options = input.options
        outgoing = OutgoingLines(
            input,
            hasCount: hasCount,
            reconnects: configuration.reconnect != nil,
            watch: watch,
            stop: stop
        )
    }

    var source: SourceName { feed.source }
    var features: AdapterFeatures { feed.features }
    /// The number of lines that could not be sent.
    var unsent: Int { outgoing.unsent }
    /// Whether the connection was closed because the input had ended.
    var closedAfterInput: Bool { outgoing.hasClosed }

    /// Closes the connection once all earlier messages have been sent.
    func close() {
        if let connection = watch.current { options.close(connection) }
    }

    func run(into intake: any Intake) async throws {
        let watched = ConnectIntake(
            intake: intake,
            watch: watch,
            keepsConnections: keepsConnections,
            onAnswer: onAnswer,
            discardsMessages: { [output] in output.isReaderGone }
        )
        // When the feed ends, this task is cancelled and awaited.
        async let _ = outgoing.run()
        do {
            try await feed.run(into: watched)
        } catch let error as WebSocketChatError where error.disconnectReason == .closed(code: nil) {
            // A close frame without a code also ends a connection normally (RFC 6455, 7.1.5).
        }
    }
}

/// Intercepts the connection events of a feed or server and the outcomes of sent messages before they reach the supervisor.
struct ConnectIntake: Intake {
    let intake: any Intake
    let watch: ConnectionWatch
    /// Whether connection events are withheld from the supervisor.
    let keepsConnections: Bool
    /// Receives the outcomes of sent messages. If `nil`, outcomes are treated like other messages.
    let onAnswer: (@Sendable (Bytes) -> Void)?
    /// Returns whether messages are discarded because stdout no longer has a reader.
    let discardsMessages: @Sendable () -> Bool

    func submit(_ batch: [Arrival], to sink: any SettlementSink) -> Int {
        if discardsMessages() {
            for arrival in batch { sink.settle(arrival.token, .abandoned(.stop)) }
            return batch.count
        }
        var taken = 0
        while taken < batch.count {
            let end = batch[taken...].firstIndex(where: isInternal) ?? batch.count
            if end > taken {
                let count = intake.submit(Array(batch[taken..<end]), to: sink)
                taken += count
                guard taken == end else { return taken }
            } else {
                guard take(batch[taken], to: sink) else { return taken }
                taken += 1
            }
        }
        return taken
    }

    func room() async throws(SourceClosed) {
        do throws(SourceClosed) {
            try await intake.room()
        } catch {
            guard discardsMessages() else { throw error }
        }
    }

    private func isInternal(_ arrival: Arrival) -> Bool {
        isConnectionEvent(arrival) || isAnswer(arrival)
    }

    private func isConnectionEvent(_ arrival: Arrival) -> Bool {
        // Only the adapter's internal actions have this envelope. A message from the peer never does.
        guard arrival.envelope == .handler, let action = try? arrival.reading.get() else { return false }
        return action.name == .chatConnected || action.name == .chatClosed
    }

    /// Returns whether the arrival is an answer from a Signalbox server, in the form `{"id", "outcome", ...}`.
    private func isAnswer(_ arrival: Arrival) -> Bool {
        guard onAnswer != nil, arrival.envelope == .standard, case .failure = arrival.reading,
            let body = try? Body(json: arrival.original, limits: ConnectCommand.messageLimits)
        else { return false }
        let hasText = { (name: String) in (try? body.member(at: [name])?.decode(String.self)) != nil }
        return hasText("outcome") && (body.member(at: ["uuid"]) != nil || hasText("id"))
    }

    /// - Returns: Whether this intake took the arrival. If it did, the supervisor must not receive the arrival.
    private func take(_ arrival: Arrival, to sink: any SettlementSink) -> Bool {
        guard isConnectionEvent(arrival) else {
            onAnswer?(arrival.original)
            sink.settle(arrival.token, .handled(reply: nil))
            return true
        }
        guard keepsConnections || intake.submit([arrival], to: sink) == 1 else { return false }
        if let connection = arrival.sender as? ChatConnection, let action = try? arrival.reading.get() {
            if action.name == .chatConnected { watch.opened(connection) } else { watch.closed(connection) }
        }
        if keepsConnections { sink.settle(arrival.token, .handled(reply: nil)) }
        return true
    }
}

/// Tracks the open connections of a feed or server, on which messages can be sent. Safe to use from any thread.
final class ConnectionWatch: Sendable {
    private struct State {
        var open: [ChatConnection] = []
        /// Set when the next connection opens.
        var next = Promise<ChatConnection>()
    }

    private let state = Mutex(State())

    /// The newest open connection, or `nil` if no connection is open. A feed has at most one.
    var current: ChatConnection? { state.withLock { $0.open.last } }
    /// The open connections, oldest first.
    var all: [ChatConnection] { state.withLock { $0.open } }

    func opened(_ connection: ChatConnection) {
        let next = state.withLock { state in
            state.open.append(connection)
            defer { state.next = Promise() }
            return state.next
        }
        next.set(connection)
    }

    func closed(_ connection: ChatConnection) {
        state.withLock { $0.open.removeAll { $0 === connection } }
    }

    /// Waits for an open connection and returns it. Returns `nil` if the task is cancelled.
    func connection() async -> ChatConnection? {
        guard !Task.isCancelled else { return nil }
        let (current, next) = state.withLock { ($0.open.last, $0.next) }
        if let current { return current }
        return await next.valueUnlessCancelled()
    }
}
