#if WebSocket
/// Work for a feed's session, to be done on its thread.
struct FeedCommand: Sendable {
    let context: FeedContext
    /// Whether the command starts the session. All other commands have no effect without a session.
    let startsSession: Bool
    let work: @Sendable (FeedSession) -> Void
}

/// Routes the transport's events to the feed that owns the connection. Only the service's thread uses it.
final class FeedDispatcher: ClientFrameReceiver {
    private let sender: any ClientFrameSender
    private var sessions: [ObjectIdentifier: FeedSession] = [:]
    private var owners: [ConnectionID: FeedSession] = [:]
    // The most recent lookup, cached because several pieces in a row usually belong to the same connection.
    private var last: (id: ConnectionID, owner: FeedSession)?

    init(_ sender: any ClientFrameSender) {
        self.sender = sender
    }

    deinit {
        for session in sessions.values { session.threadEnded() }
    }

    // MARK: - Connections of sessions

    func connect(to target: ClientTarget, for session: FeedSession) -> ConnectionID {
        let id = sender.connect(to: target)
        owners[id] = session
        return id
    }

    /// Stops routing the connection's events.
    func unregister(_ id: ConnectionID) {
        owners[id] = nil
        if last?.id == id { last = nil }
    }

    private func owner(_ id: ConnectionID) -> FeedSession? {
        if let last, last.id == id { return last.owner }
        guard let owner = owners[id] else { return nil }
        last = (id, owner)
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

    func closed(_ connection: ConnectionID, _ reason: DisconnectReason) {
        guard let owner = owner(connection) else { return }
        unregister(connection)
        owner.closed(connection, reason)
    }

    func passEnded() {
        for session in sessions.values {
            session.passEnded()
            if session.isFinished { sessions[session.id] = nil }
        }
    }

    func ticked() {
        for session in sessions.values { session.ticked() }
    }

    func perform(_ command: FeedCommand) {
        let id = ObjectIdentifier(command.context)
        if command.startsSession {
            sessions[id] = FeedSession(command.context, sender: sender, dispatcher: self)
        }
        if let session = sessions[id] { command.work(session) }
    }
}
#endif
