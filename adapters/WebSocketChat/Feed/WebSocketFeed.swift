import AdapterSupport
public import Logging
public import SignalboxCore
import Synchronization

/// Receives the messages of a WebSocket server at most once: unread messages of a broken connection are lost.
///
/// When the source's window is full, reading stops, and TCP applies backpressure to the server.
public final class WebSocketFeed: Adapter {
    /// The configuration of the feed.
    public let configuration: WebSocketFeedConfiguration
    private let thread: WebSocketThread
    let environment: FeedEnvironment
    let logger: Logger
    let status: FeedStatus

    /// - Parameters:
    ///   - configuration: The configuration, which is validated.
    ///   - thread: The thread, possibly shared with other feeds; by default a new one.
    ///   - logger: The logger for connections and disconnects. It never receives messages or secrets.
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
        if configuration.url.isSecure, !configuration.url.isLocal { WebSocketVulnerabilities.warn(to: logger) }
    }

    /// The configured source.
    public var source: SourceName { configuration.source }

    /// Supports pushes while connected, and replies if the configuration enables answers.
    public var features: AdapterFeatures { configuration.answers ? [.replies, .pushes] : [.pushes] }

    /// The open connection, or `nil`. The opening messages are queued before it is set.
    public var connection: ChatConnection? { status.connection }

    /// The counters since the feed was created.
    public var counts: WebSocketFeedCounts { status.counts }

    /// Receives until its task is cancelled or the intake closes, and reconnects if configured.
    ///
    /// Cancellation stops the feed gracefully. Reading stops, accepted messages are settled, and pending messages are
    /// sent. The connection then closes with 1001, and the feed waits up to 1 s for the answer. Messages that were read
    /// but not accepted are abandoned, counted and logged.
    ///
    /// Cancellation takes effect immediately, even while connecting or between connections. A name lookup or secret
    /// read in progress cannot be interrupted and ends on its own thread.
    ///
    /// If a host has several addresses and one cannot be reached, the next is tried.
    ///
    /// - Throws: ``WebSocketChatError`` `alreadyRunning`, `noResources`; `notConnected` and `ended` as configured by
    ///   ``WebSocketFeedConfiguration/firstConnectionMustSucceed`` and ``WebSocketFeedConfiguration/reconnect``.
    public func run(into intake: any Intake) async throws {
        guard status.begin() else {
            throw WebSocketChatError(.alreadyRunning, "the feed is already running; create another one", source: source)
        }
        defer { status.end() }
        let transport: LibraryTransport
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

/// The counters of a feed since it was created.
public struct WebSocketFeedCounts: Sendable, Hashable, Encodable {
    /// Connections that were opened.
    public internal(set) var connections = 0
    /// Failed attempts. All addresses of a host count as one attempt.
    public internal(set) var failures = 0
    /// Connections cut because the server did not answer a ping.
    public internal(set) var unanswered = 0
    /// Messages read but not accepted by the supervisor because it was stopping.
    public internal(set) var notTaken = 0
}

/// The observable state of a feed, which outlives its runs. Any thread.
final class FeedStatus: Sendable {
    private struct State {
        var isRunning = false
        var connection: ChatConnection?
        var counts = WebSocketFeedCounts()
    }

    let hub: ChatHub
    private let state = Mutex(State())

    init(_ configuration: WebSocketFeedConfiguration) {
        hub = ChatHub(ChatHub.Limits(waitingBytes: configuration.waitingBytes, closesSlowReaders: false))
    }

    var connection: ChatConnection? { state.withLock { $0.connection } }
    var counts: WebSocketFeedCounts { state.withLock { $0.counts } }

    /// - Returns: Whether no run was active.
    func begin() -> Bool {
        state.withLock { state in
            defer { state.isRunning = true }
            return !state.isRunning
        }
    }

    func end() {
        state.withLock { $0.isRunning = false }
    }

    /// Makes the connection available for sending.
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
