import AdapterThreads
import SignalboxCore

extension FeedRun {
    func beginReading(_ id: ConnectionID, _ handshake: Handshake) {
        let facts = ChatFacts(
            role: .feed,
            peer: peer,
            subprotocol: handshake.subprotocol,
            tls: configuration.url.isSecure
        )
        let chat = ChatConnection(id, principal: nil, hub: plan.state.hub)
        let reading = feeder.connection(chat, origin: Origin(source: configuration.source, facts: facts))
        let now = now
        let heartbeat = configuration.pingAfter.map {
            Heartbeat(pingAfter: $0, pongWithin: configuration.pongWithin, now: now)
        }
        open = OpenFeed(reading: reading, facts: facts, since: now, heartbeat: heartbeat)
        plan.state.opened(chat)
        guard configuration.announcesConnections else { return }
        feeder.announce(.chatConnected, body: ConnectionNews.opened(chat, facts), on: reading)
    }

    func received(_ piece: MessagePiece, on id: ConnectionID) -> PieceVerdict {
        guard isReading, let open, open.id == id else { return .proceed }
        open.heartbeat?.hear()
        return feeder.received(piece, on: open.reading)
    }

    func ponged(_ id: ConnectionID) {
        if open?.id == id { open?.heartbeat?.hear() }
    }

    func closed(_ id: ConnectionID, _ end: ConnectionEnd) {
        switch phase {
        case .connecting(id, _, let preparation, let index): failed(.transport(end), preparation, index)
        case .open where open?.id == id: disconnected(.transport(end))
        case .halted where open?.id == id: forgetConnection()
        case .leaving where open?.id == id: finish()
        default: break
        }
    }

    /// The open connection is no more.
    func disconnected(_ end: FeedEnd) {
        // One that a server accepts and drops makes the next wait no shorter.
        if let since = open?.since, let reconnect = configuration.reconnect, now - since >= reconnect.holds {
            backoff?.succeeded()
        }
        announceClosed(end)
        forgetConnection()
        ended(end)
    }

    func announceClosed(_ end: FeedEnd) {
        guard configuration.announcesConnections, let current = open else { return }
        let body = ConnectionNews.closed(current.reading.chat, current.facts, end.ofConnection)
        feeder.announce(.chatClosed, body: body, on: current.reading)
    }

    func forgetConnection() {
        guard let current = open else { return }
        open = nil
        plan.state.closed(current.reading.chat)
    }
}
