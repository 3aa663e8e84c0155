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
