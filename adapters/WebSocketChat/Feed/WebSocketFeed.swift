#if WebSocket
import AdapterSupport
public import Logging
public import SignalboxCore
import Synchronization

/// Connects to a WebSocket server and receives its messages.
///
/// Use a feed when your program is the client of a server that sends messages, such as a stream of prices. For example:
///
/// ```swift
/// var configuration = WebSocketFeedConfiguration(source: "prices", url: try WebSocketURL("wss://feed.example/v1"))
/// configuration.bearer = .environment("FEED_TOKEN")
/// configuration.openingMessages = [#"{"action":"subscribe","body":{"symbol":"ABC"}}"#]
/// let feed = try WebSocketFeed(configuration, logger: logger)
/// ```
///
/// Messages are delivered at most once: when a connection breaks, its unread messages are lost. When the source's
/// window is full, the feed stops reading, and TCP applies backpressure to the server.
public final class WebSocketFeed: ConnectingAdapter {
    /// The feed's configuration.
    public let configuration: WebSocketFeedConfiguration
    private let thread: WebSocketThread
    let environment: FeedEnvironment
    let logger: Logger
    let status: FeedStatus

    /// Creates a feed, which connects when you run it.
    ///
    /// - Parameters:
    ///   - configuration: The configuration, which the initializer validates.
    ///   - thread: The thread that serves the feed, which other feeds can share. By default, the feed has a new thread.
    ///   - logger: The logger for connections and disconnects. Messages and secrets are never logged.
    /// - Throws: ``WebSocketChatError`` `invalidConfiguration`.
    public convenience init(
        _ configuration: WebSocketFeedConfiguration,
        thread: WebSocketThread = WebSocketThread(),
        logger: Logger
    ) throws(WebSocketChatError) {
        try self.init(configuration, thread: thread, logger: logger, environment: FeedEnvironment())
    }

    init(
        _ configuration: WebSocketFeedConfiguration,
        thread: WebSocketThread,
        logger: Logger,
        environment: FeedEnvironment
    ) throws(WebSocketChatError) {
        try configuration.validate()
        self.configuration = configuration
        self.thread = thread
        self.environment = environment
        self.logger = logger
        status = FeedStatus(configuration)
        if configuration.url.isSecure, !configuration.isLocal { WebSocketVulnerabilities.warn(to: logger) }
    }

    /// The source named in the configuration.
    public var source: SourceName { configuration.source }

    /// The supported features. A feed supports pushes while it is connected, and replies if the configuration enables
    /// answers.
    public var features: AdapterFeatures { configuration.answers ? [.replies, .pushes] : [.pushes] }

    /// The current connection, or `nil` if the feed is not connected.
    ///
    /// Messages sent on this connection follow the opening messages, because the feed queues those first.
    public var connection: ChatConnection? { status.connection }

    package var connectionProblem: String? { status.watched.problem }

    /// The events counted since the feed was created.
    public var counts: WebSocketFeedCounts { status.counts }

    /// Receives messages until the task is cancelled or the intake closes. When a connection ends, the feed reconnects
    /// unless ``WebSocketFeedConfiguration/reconnect`` is `nil`.
    ///
    /// Cancellation stops the feed gracefully: the feed stops reading, waits until the accepted messages are settled,
    /// and sends any pending messages. It then closes the connection with 1001 and waits up to 1 s for the answer.
    /// Messages that were read but not accepted are abandoned, counted and logged.
    ///
    /// Cancellation takes effect immediately, even while the feed is connecting or waiting between connections. Looking
    /// up a name or reading a secret cannot be interrupted, so this work ends later, on a separate thread.
    ///
    /// If a host has several addresses and one of them cannot be reached, the feed tries the next one.
    ///
    /// - Throws: ``WebSocketChatError`` `alreadyRunning` or `noResources`. Depending on
    ///   ``WebSocketFeedConfiguration/firstConnectionMustSucceed`` and ``WebSocketFeedConfiguration/reconnect``, a run
    ///   may also throw `notConnected` or `ended`.
    public func run(into intake: any Intake) async throws {
        guard status.begin() else {
            throw WebSocketChatError(.alreadyRunning, "the feed is already running; create another one", source: source)
        }
        defer { status.end() }
        let transport: ClientTransport
        do throws(TransportError) {
            transport = try await thread.register()
        } catch {
            throw WebSocketChatError(.noResources, error.description, source: source)
        }
        let context = FeedContext(self, intake: intake, transport: transport)
        status.hub.attach(transport)
        let error = await perform(context)
        status.hub.attach(nil)
        await thread.unregister(transport)
        if let error { throw error }
    }

    private func perform(_ context: FeedContext) async -> WebSocketChatError? {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await context.room.serve(context.intake) { _ in context.transport.wake() } }
            group.addTask { await context.serveDelays() }
            context.post(startsSession: true) { $0.begin() }
            let error = await withTaskCancellationHandler {
                await context.halted.value()
                await context.table.settled()
                context.post { $0.close() }
                return await context.finished.value()
            } onCancel: {
                context.post { $0.stop() }
            }
            context.room.finish()
            group.cancelAll()
            return error
        }
    }
}

extension WebSocketFeed: RestoringAdapter {
    /// Reads stored messages again, with the current frames and limits. The messages have no ``ChatConnection``.
    ///
    /// The facts are those that the feed established when each message arrived. A text message and a binary one can be told
    /// apart unless text messages are read as bytes, too.
    public func restore(_ messages: [StoredMessage], at now: WallTime) -> [Arrival] {
        let reader = RestoredMessages(source: source, frames: configuration.frames, limits: configuration.limits)
        return reader.arrivals(of: messages, at: now)
    }
}

/// Counters for a feed's events since it was created. Use them to monitor the feed.
public struct WebSocketFeedCounts: Sendable, Hashable, Encodable {
    /// Connections that opened.
    public internal(set) var connections = 0
    /// Failed attempts to connect. Trying all addresses of a host is a single attempt.
    public internal(set) var failures = 0
    /// Connections that were cut because the server did not answer a ping.
    public internal(set) var unanswered = 0
    /// Answers to calls that had already ended, such as after their timeout. They were dropped.
    public internal(set) var lateAnswers = 0
    /// Messages that the feed read, but that the supervisor did not accept because it was stopping.
    public internal(set) var notTaken = 0
}

/// A feed's observable state, which outlives its runs. Safe to use from any thread.
final class FeedStatus: Sendable {
    private struct State {
        var isRunning = false
        var connection: ChatConnection?
        var counts = WebSocketFeedCounts()
    }

    let hub: ChatHub
    /// Whether the feed is connected.
    let watched = ConnectionState()
    private let state = Mutex(State())

    init(_ configuration: WebSocketFeedConfiguration) {
        hub = ChatHub(
            ChatHub.Limits(
                waitingBytes: configuration.waitingBytes,
                closesSlowReaders: false,
                calls: ChatHub.Calls(
                    inFlight: configuration.callsInFlight,
                    configuration.frames,
                    configuration.limits
                )
            )
        )
    }

    var connection: ChatConnection? { state.withLock { $0.connection } }
    var counts: WebSocketFeedCounts {
        var counts = state.withLock { $0.counts }
        counts.lateAnswers = hub.lateAnswers
        return counts
    }

    /// - Returns: `false` if a run is already active.
    func begin() -> Bool {
        state.withLock { state in
            defer { state.isRunning = true }
            return !state.isRunning
        }
    }

    func end() {
        state.withLock { $0.isRunning = false }
    }

    /// Makes the connection available to programs that send messages.
    func opened(_ connection: ChatConnection) {
        hub.opened(connection.number)
        state.withLock { state in
            state.connection = connection
            state.counts.connections += 1
        }
    }

    func closed(_ connection: ChatConnection) {
        hub.closed(connection.number)
        state.withLock { $0.connection = nil }
    }

    func count(_ change: (inout WebSocketFeedCounts) -> Void) {
        state.withLock { change(&$0.counts) }
    }
}
#endif
