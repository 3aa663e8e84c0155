import AdapterSupport
import Synchronization

/// A thread that serves the connections of one or more feeds. Any thread.
///
/// It starts with the first running feed, ends with the last, and can restart. Suitable for about 100 connections.
public final class WebSocketThread: Sendable {
    private struct State {
        let start = Promise<Result<FeedEventLoop, TransportError>>()
        var eventLoop: FeedEventLoop?
        /// The number of feeds that have registered and not unregistered.
        var feeds = 0
    }

    // `nil` while no feed is registered.
    private let state = Mutex<State?>(nil)

    /// Creates a thread that has not started.
    public init() {}

    /// Registers one more feed and returns the running thread. The feed must call ``unregister(_:)``.
    func register() async throws(TransportError) -> FeedEventLoop {
        let (start, isFirst) = state.withLock { state in
            var joined = state ?? State()
            joined.feeds += 1
            state = joined
            return (joined.start, joined.feeds == 1)
        }
        guard isFirst else { return try await start.value().get() }
        do throws(TransportError) {
            let eventLoop = try await FeedEventLoop.begin()
            state.withLock { $0?.eventLoop = eventLoop }
            start.set(.success(eventLoop))
            return eventLoop
        } catch {
            // The feeds that registered meanwhile fail too. The next one tries again.
            state.withLock { $0 = nil }
            start.set(.failure(error))
            throw error
        }
    }

    /// Unregisters a feed. If it was the last, waits until the thread has ended.
    func unregister(_ eventLoop: FeedEventLoop) async {
        let wasLast = state.withLock { state in
            guard state?.eventLoop === eventLoop else { return false }
            state?.feeds -= 1
            guard state?.feeds == 0 else { return false }
            state = nil
            return true
        }
        if wasLast { await eventLoop.stop() }
    }
}

/// A running thread with its feeds. Any thread.
final class FeedEventLoop: Sendable {
    // Feeds that share a thread differ in limits and deadlines, so each feed enforces its own.
    private static let limits = {
        var limits = TransportLimits()
        limits.waitingBytes = 1 << 30
        limits.allWaitingBytes = .max
        limits.pingAfter = 0
        limits.cutAfter = .max
        limits.connectWithin = UInt32(WebSocketFeedConfiguration.connectLimit) + 5
        return limits
    }()

    let transport: LibraryTransport
    private let queue: FeedCommandQueue

    private init(_ transport: LibraryTransport, _ queue: FeedCommandQueue) {
        self.transport = transport
        self.queue = queue
    }

    static func begin() async throws(TransportError) -> FeedEventLoop {
        let queue = FeedCommandQueue()
        let transport = try await LibraryTransport.client(limits: limits) { sender in
            FeedDispatcher(sender, queue)
        }
        return FeedEventLoop(transport, queue)
    }

    /// Queues a command and wakes the thread.
    func post(_ command: FeedCommand) {
        if queue.append(command) { transport.wake() } else { command.context.threadEnded() }
    }

    /// Ends the thread. No feed may be using it.
    func stop() async {
        transport.stop()
        await transport.stopped()
    }
}

/// A command for the service's thread.
enum FeedCommand: Sendable {
    /// Starts a session.
    case begin(FeedContext)
    /// Secrets and addresses for an attempt are available, or the lookup failed.
    case prepared(FeedContext, attempt: UInt64, Result<FeedPreparation, DisconnectReason>)
    /// The delay before an attempt has passed.
    case due(FeedContext, attempt: UInt64)
    /// Stops reading and connecting.
    case stop(FeedContext)
    /// Closes the connection, after all messages are settled.
    case close(FeedContext)

    var context: FeedContext {
        switch self {
        case .begin(let context), .prepared(let context, _, _), .due(let context, _), .stop(let context),
            .close(let context):
            context
        }
    }
}

/// The pending commands for a service's thread. Any thread.
final class FeedCommandQueue: Sendable {
    private struct State {
        var commands: [FeedCommand] = []
        var isClosed = false
    }

    private let state = Mutex(State())

    /// - Returns: Whether the command was accepted; `false` if the thread has ended.
    func append(_ command: FeedCommand) -> Bool {
        state.withLock { state in
            guard !state.isClosed else { return false }
            state.commands.append(command)
            return true
        }
    }

    func take() -> [FeedCommand] {
        state.withLock { state in
            defer { state.commands = [] }
            return state.commands
        }
    }

    /// Closes the queue.
    ///
    /// - Returns: The commands that will not run.
    func close() -> [FeedCommand] {
        state.withLock { state in
            state.isClosed = true
            defer { state.commands = [] }
            return state.commands
        }
    }
}

/// Routes transport events to the feed that owns the connection. Belongs to the service's thread.
final class FeedDispatcher: FrameReceiver {
    private let sender: any FrameSender
    private let queue: FeedCommandQueue
    private var sessions: [ObjectIdentifier: FeedSession] = [:]
    private var owners: [ConnectionID: FeedSession] = [:]
    // The last lookup, cached because pieces usually arrive in runs from one connection.
    private var lastID: ConnectionID?
    private var lastOwner: FeedSession?

    init(_ sender: any FrameSender, _ queue: FeedCommandQueue) {
        self.sender = sender
        self.queue = queue
    }

    deinit {
        for command in queue.close() { command.context.threadEnded() }
        for session in sessions.values { session.threadEnded() }
    }

    // MARK: - Connections of sessions

    func connect(to target: ClientTarget, for session: FeedSession) -> ConnectionID {
        let id = sender.connect(to: target)
        owners[id] = session
        return id
    }

    /// Stops routing events of the connection.
    func unregister(_ id: ConnectionID) {
        owners[id] = nil
        if lastID == id {
            lastID = nil
            lastOwner = nil
        }
    }

    private func owner(_ id: ConnectionID) -> FeedSession? {
        if lastID == id { return lastOwner }
        guard let owner = owners[id] else { return nil }
        lastID = id
        lastOwner = owner
        return owner
    }

    // MARK: - Events

    func opened(_ connection: ConnectionID, _ handshake: Handshake) {
        owner(connection)?.opened(connection, handshake)
    }

    func received(_ piece: MessagePiece, on connection: ConnectionID) -> PieceVerdict {
        owner(connection)?.received(piece, on: connection) ?? .proceed
    }

    func ponged(_ connection: ConnectionID) {
        owner(connection)?.ponged(connection)
    }

    func drained(_ connection: ConnectionID) {}

    func closed(_ connection: ConnectionID, _ reason: DisconnectReason) {
        guard let owner = owner(connection) else { return }
        unregister(connection)
        owner.closed(connection, reason)
    }

    func passEnded() {
        while true {
            let commands = queue.take()
            if commands.isEmpty { break }
            for command in commands { perform(command) }
        }
        for session in sessions.values {
            session.passEnded()
            if session.isFinished { sessions[session.id] = nil }
        }
    }

    func ticked() {
        for session in sessions.values { session.ticked() }
    }

    private func perform(_ command: FeedCommand) {
        if case .begin(let context) = command {
            let session = FeedSession(context, sender: sender, dispatcher: self)
            sessions[session.id] = session
            return session.begin()
        }
        guard let session = sessions[ObjectIdentifier(command.context)] else { return }
        switch command {
        case .begin: break
        case .prepared(_, let attempt, let result): session.prepared(result, attempt: attempt)
        case .due(_, let attempt): session.due(attempt: attempt)
        case .stop: session.stop()
        case .close: session.close()
        }
    }
}
