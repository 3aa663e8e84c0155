import Synchronization

/// A thread that serves the connections of one or more feeds. Any thread.
///
/// It starts with the first running feed, ends with the last, and can restart. Suitable for about 100 connections.
public final class WebSocketThread: Sendable {
    // `nil` if the thread has ended in the meantime.
    private typealias Waiter = CheckedContinuation<Result<FeedService, TransportFault>?, Never>

    private enum State {
        case idle
        /// The thread is starting, and these feeds wait for it.
        case beginning([Waiter])
        case running(FeedService, feeds: Int)
    }

    private let state = Mutex(State.idle)

    /// Creates a thread that has not started.
    public init() {}

    /// Registers one more feed and returns the running thread. The feed must call ``leave(_:)``.
    func join() async throws(TransportFault) -> FeedService {
        while true {
            if mustBegin() { return try await begin() }
            if let result = await withCheckedContinuation(wait) { return try result.get() }
        }
    }

    private func mustBegin() -> Bool {
        state.withLock { state in
            guard case .idle = state else { return false }
            state = .beginning([])
            return true
        }
    }

    private func wait(_ waiter: Waiter) {
        let service = state.withLock { state -> FeedService?? in
            switch state {
            case .idle: return .some(nil)
            case .beginning(let waiters):
                state = .beginning(waiters + [waiter])
                return nil
            case .running(let service, let feeds):
                state = .running(service, feeds: feeds + 1)
                return service
            }
        }
        if let service { waiter.resume(returning: service.map { .success($0) }) }
    }

    private func begin() async throws(TransportFault) -> FeedService {
        let result: Result<FeedService, TransportFault>
        do throws(TransportFault) { result = .success(try await FeedService.begin()) } catch {
            result = .failure(error)
        }
        let waiters = state.withLock { state -> [Waiter] in
            guard case .beginning(let waiters) = state else { return [] }
            if case .success(let service) = result {
                state = .running(service, feeds: 1 + waiters.count)
            } else {
                state = .idle
            }
            return waiters
        }
        for waiter in waiters { waiter.resume(returning: result) }
        return try result.get()
    }

    /// Unregisters a feed. If it was the last, waits until the thread has ended.
    func leave(_ service: FeedService) async {
        let wasLast = state.withLock { state in
            guard case .running(let current, let feeds) = state, current === service else { return false }
            state = feeds == 1 ? .idle : .running(service, feeds: feeds - 1)
            return feeds == 1
        }
        if wasLast { await service.end() }
    }
}

/// A running thread with its feeds. Any thread.
final class FeedService: Sendable {
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
    private let inbox: FeedInbox

    private init(_ transport: LibraryTransport, _ inbox: FeedInbox) {
        self.transport = transport
        self.inbox = inbox
    }

    static func begin() async throws(TransportFault) -> FeedService {
        let inbox = FeedInbox()
        let transport = try await LibraryTransport.client(limits: limits) { sender in
            FeedDispatcher(sender, inbox)
        }
        return FeedService(transport, inbox)
    }

    /// Queues a command and wakes the thread.
    func post(_ order: FeedOrder) {
        if inbox.append(order) { transport.wake() } else { order.plan.threadEnded() }
    }

    /// Ends the thread. No feed may be using it.
    func end() async {
        transport.stop()
        await transport.stopped()
    }
}

/// A command for the service's thread.
enum FeedOrder: Sendable {
    /// Starts a run.
    case begin(FeedPlan)
    /// Secrets and addresses for an attempt are available, or the lookup failed.
    case prepared(FeedPlan, attempt: UInt64, Result<FeedPreparation, FeedEnd>)
    /// The delay before an attempt has passed.
    case due(FeedPlan, attempt: UInt64)
    /// Stops reading and connecting.
    case stop(FeedPlan)
    /// Closes the connection, after all messages are settled.
    case leave(FeedPlan)

    var plan: FeedPlan {
        switch self {
        case .begin(let plan), .prepared(let plan, _, _), .due(let plan, _), .stop(let plan), .leave(let plan): plan
        }
    }
}

/// The pending commands for a service's thread. Any thread.
final class FeedInbox: Sendable {
    private struct State {
        var orders: [FeedOrder] = []
        var isClosed = false
    }

    private let state = Mutex(State())

    /// - Returns: Whether the command was accepted; `false` if the thread has ended.
    func append(_ order: FeedOrder) -> Bool {
        state.withLock { state in
            guard !state.isClosed else { return false }
            state.orders.append(order)
            return true
        }
    }

    func take() -> [FeedOrder] {
        state.withLock { state in
            defer { state.orders = [] }
            return state.orders
        }
    }

    /// Closes the queue.
    ///
    /// - Returns: The commands that will not run.
    func close() -> [FeedOrder] {
        state.withLock { state in
            state.isClosed = true
            defer { state.orders = [] }
            return state.orders
        }
    }
}

/// Routes transport events to the feed that owns the connection. Belongs to the service's thread.
final class FeedDispatcher: FrameReceiver {
    private let sender: any FrameSender
    private let inbox: FeedInbox
    private var runs: [ObjectIdentifier: FeedRun] = [:]
    private var owners: [ConnectionID: FeedRun] = [:]
    // The last lookup, cached because pieces usually arrive in runs from one connection.
    private var lastID: ConnectionID?
    private var lastOwner: FeedRun?

    init(_ sender: any FrameSender, _ inbox: FeedInbox) {
        self.sender = sender
        self.inbox = inbox
    }

    deinit {
        for order in inbox.close() { order.plan.threadEnded() }
        for run in runs.values { run.threadEnded() }
    }

    // MARK: - Connections of runs

    func connect(to target: ClientTarget, for run: FeedRun) -> ConnectionID {
        let id = sender.connect(to: target)
        owners[id] = run
        return id
    }

    /// Stops routing events of the connection.
    func forget(_ id: ConnectionID) {
        owners[id] = nil
        if lastID == id {
            lastID = nil
            lastOwner = nil
        }
    }

    private func owner(_ id: ConnectionID) -> FeedRun? {
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

    func closed(_ connection: ConnectionID, _ end: ConnectionEnd) {
        guard let owner = owner(connection) else { return }
        forget(connection)
        owner.closed(connection, end)
    }

    func passEnded() {
        while true {
            let orders = inbox.take()
            if orders.isEmpty { break }
            for order in orders { carryOut(order) }
        }
        for run in runs.values {
            run.passEnded()
            if run.isOver { runs[run.id] = nil }
        }
    }

    func ticked() {
        for run in runs.values { run.ticked() }
    }

    private func carryOut(_ order: FeedOrder) {
        if case .begin(let plan) = order {
            let run = FeedRun(plan, sender: sender, dispatcher: self)
            runs[run.id] = run
            return run.begin()
        }
        guard let run = runs[ObjectIdentifier(order.plan)] else { return }
        switch order {
        case .begin: break
        case .prepared(_, let attempt, let result): run.prepared(result, attempt: attempt)
        case .due(_, let attempt): run.due(attempt: attempt)
        case .stop: run.stop()
        case .leave: run.leave()
        }
    }
}
