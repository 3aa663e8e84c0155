public import Logging
public import SignalboxCore
import Synchronization

/// Connects to a WebSocket server and receives its messages, at most once: what was not read when a connection breaks is
/// lost.
///
/// When the source's window is full reading stops, and the server's TCP connection with it.
public final class WebSocketFeed: Adapter {
    /// What the feed was made with.
    public let configuration: WebSocketFeedConfiguration
    private let thread: WebSocketThread
    private let surroundings: FeedSurroundings
    private let logger: Logger
    private let state: FeedState

    /// - Parameters:
    ///   - configuration: checked here.
    ///   - thread: shared with other feeds, or one of its own.
    ///   - logger: hears of connections and their ends; never of messages and secrets.
    /// - Throws: ``WebSocketChatError`` `invalidConfiguration`.
    public convenience init(
        _ configuration: WebSocketFeedConfiguration,
        thread: WebSocketThread = WebSocketThread(),
        logger: Logger
    ) throws(WebSocketChatError) {
        try self.init(configuration, thread: thread, logger: logger, surroundings: FeedSurroundings())
    }

    init(
        _ configuration: WebSocketFeedConfiguration,
        thread: WebSocketThread,
        logger: Logger,
        surroundings: FeedSurroundings
    ) throws(WebSocketChatError) {
        try configuration.validate()
        self.configuration = configuration
        self.thread = thread
        self.surroundings = surroundings
        self.logger = logger
        state = FeedState(configuration)
        if configuration.url.isSecure, !configuration.url.isLocal { WebSocketFaults.warn(to: logger) }
    }

    /// The configured source.
    public var source: SourceName { configuration.source }

    /// The server can be spoken to while there is a connection; it is answered where the configuration says so.
    public var features: AdapterFeatures { configuration.answers ? [.replies, .pushes] : [.pushes] }

    /// The connection, or `nil` while there is none. The opening messages were handed over before.
    public var connection: ChatConnection? { state.connection }

    /// How many there were of what, since the feed was made.
    public var counts: WebSocketFeedCounts { state.counts }

    /// Receives until its task is cancelled or the intake closes; reconnects in between, where the configuration says so.
    ///
    /// Cancellation is the graceful stop: nothing more is read, what was taken is waited for, the server is told 1001 after
    /// what waits to be sent; at most 1 s is waited for its answer. It is heard at once, also before a connection and
    /// between two; a call of the system that looks up a name or reads a secret's file cannot be interrupted, and is left
    /// to end by itself. Messages that were read and not taken by then are abandoned, counted and logged.
    ///
    /// Of several addresses of a host the next is tried when one cannot be reached.
    ///
    /// - Throws: ``WebSocketChatError`` `alreadyRunning`, `noResources`; `notConnected` and `ended` where
    ///   ``WebSocketFeedConfiguration/firstConnectionMustSucceed`` and ``WebSocketFeedConfiguration/reconnect`` ask for it.
    public func run(into intake: any Intake) async throws {
        guard state.begin() else {
            throw WebSocketChatError(.alreadyRunning, "the feed runs already; make another one", source: source)
        }
        defer { state.end() }
        let service: FeedService
        do throws(TransportFault) {
            service = try await thread.join()
        } catch {
            throw WebSocketChatError(.noResources, error.description, source: source)
        }
        let plan = FeedPlan(
            configuration,
            surroundings: surroundings,
            logger: logger,
            intake: intake,
            service: service,
            state: state
        )
        state.hub.attach(service.transport)
        let error = await perform(plan)
        state.hub.attach(nil)
        await thread.leave(service)
        if let error { throw error }
    }

    private func perform(_ plan: FeedPlan) async -> WebSocketChatError? {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await plan.room.serve(plan.intake) { plan.service.transport.wake() } }
            group.addTask { await plan.serveWaits() }
            plan.service.post(.begin(plan))
            let error = await withTaskCancellationHandler {
                await plan.halted.value()
                await plan.table.settled()
                plan.service.post(.leave(plan))
                return await plan.over.value()
            } onCancel: {
                plan.service.post(.stop(plan))
            }
            plan.room.finish()
            group.cancelAll()
            return error
        }
    }
}

/// What a feed has counted, since it was made.
public struct WebSocketFeedCounts: Sendable, Hashable, Encodable {
    /// Connections that were opened.
    public internal(set) var connections = 0
    /// Attempts that led to no connection; one for all addresses of a host together.
    public internal(set) var failures = 0
    /// Connections that were cut because the server did not answer a ping.
    public internal(set) var unanswered = 0
    /// Messages read that the supervisor did not take, as it stopped.
    public internal(set) var notTaken = 0
}

/// What of a feed can be looked at while it runs, and outlasts its runs. Any thread.
final class FeedState: Sendable {
    private struct State {
        var isRunning = false
        var connection: ChatConnection?
        var counts = WebSocketFeedCounts()
    }

    let hub: ChatHub
    private let state = Mutex(State())

    init(_ configuration: WebSocketFeedConfiguration) {
        var limits = ChatHub.Limits()
        limits.waitingBytes = configuration.waitingBytes
        limits.closesSlowReaders = false
        hub = ChatHub(limits)
    }

    var connection: ChatConnection? { state.withLock { $0.connection } }
    var counts: WebSocketFeedCounts { state.withLock { $0.counts } }

    /// - Returns: whether there was no run.
    func begin() -> Bool {
        state.withLock { state in
            defer { state.isRunning = true }
            return !state.isRunning
        }
    }

    func end() {
        state.withLock { $0.isRunning = false }
    }

    /// From now on the connection can be spoken to.
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
