import Synchronization

/// The thread on which feeds read and write: feeds that are given the same one share it. Any thread.
///
/// It begins with the first feed that runs and ends with the last; the next that runs begins a new one. Fit for about a
/// hundred connections.
public final class WebSocketThread: Sendable {
    // `nil`: the thread ended meanwhile.
    private typealias Waiter = CheckedContinuation<Result<FeedService, TransportFault>?, Never>

    private enum State {
        case idle
        /// Somebody begins the thread, for these too.
        case beginning([Waiter])
        case running(FeedService, feeds: Int)
    }

    private let state = Mutex(State.idle)

    /// A thread that has yet to begin.
    public init() {}

    /// The running thread, for one more feed, which calls ``leave(_:)`` in the end.
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

    /// A feed needs the thread no more; returns when the thread has ended, if it was the last.
    func leave(_ service: FeedService) async {
        let wasLast = state.withLock { state in
            guard case .running(let current, let feeds) = state, current === service else { return false }
            state = feeds == 1 ? .idle : .running(service, feeds: feeds - 1)
            return feeds == 1
        }
        if wasLast { await service.end() }
    }
}

/// A running thread with the feeds on it. Any thread.
final class FeedService: Sendable {
    // Each feed bounds its own bytes, deadlines and silence, as feeds on one thread differ in them.
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

    /// Gives an order; the thread sees it soon.
    func post(_ order: FeedOrder) {
        if inbox.append(order) { transport.wake() } else { order.plan.threadEnded() }
    }

    /// Ends the thread, which no feed is on any more.
    func end() async {
        transport.stop()
        await transport.stopped()
    }
}

/// What a run's task, and what works for it, asks of the service's thread.
enum FeedOrder: Sendable {
    /// The first order of a run.
    case begin(FeedPlan)
    /// Secrets and addresses for an attempt are there, or cannot be had.
    case prepared(FeedPlan, attempt: UInt64, Result<FeedPreparation, FeedEnd>)
    /// The wait before an attempt is over.
    case due(FeedPlan, attempt: UInt64)
    /// Read no more and connect no more.
    case stop(FeedPlan)
    /// All that was read is settled: say goodbye.
    case leave(FeedPlan)

    var plan: FeedPlan {
        switch self {
        case .begin(let plan), .prepared(let plan, _, _), .due(let plan, _), .stop(let plan), .leave(let plan): plan
        }
    }
}

/// The orders for a service's thread that it has not seen yet. Any thread.
final class FeedInbox: Sendable {
    private struct State {
        var orders: [FeedOrder] = []
        var isClosed = false
    }

    private let state = Mutex(State())

    /// - Returns: whether the order was taken; not when the thread has ended.
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

    /// Takes nothing more.
    ///
    /// - Returns: what nobody will see.
    func close() -> [FeedOrder] {
        state.withLock { state in
            state.isClosed = true
            defer { state.orders = [] }
            return state.orders
        }
    }
}

/// Hands what comes on a service's thread to the feed it is for. Belongs to that thread.
final class FeedDispatcher: FrameReceiver {
    private let sender: any FrameSender
    private let inbox: FeedInbox
    private var runs: [ObjectIdentifier: FeedRun] = [:]
    private var owners: [ConnectionID: FeedRun] = [:]
    // Pieces mostly come many at a time from one connection.
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

    /// Nothing of the connection is told any more.
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

    // MARK: - What comes

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
