import SignalboxCore

/// Receives a server's messages and decides on its clients. Belongs to the service's thread.
final class ServerReceiver: ServerFrameReceiver {
    let run: ServerRun
    let transport: any FrameSender
    let feeder: ArrivalFeeder
    private var policy: UpgradePolicy
    /// The accepted connections that have not ended.
    private var admitted: [ConnectionID: AdmittedClient] = [:]
    private(set) var connections: [ConnectionID: ServerConnection] = [:]
    private var last: ServerConnection?
    private var notTaken = 0
    private var closeDeadline: ContinuousClock.Instant?

    init(_ run: ServerRun, transport: any FrameSender) {
        self.run = run
        self.transport = transport
        policy = run.policy
        feeder = ArrivalFeeder(
            ArrivalFeeder.Parts(
                frames: run.configuration.frames,
                limits: run.configuration.limits,
                connectionWindow: run.configuration.connectionWindow,
                intake: run.intake,
                table: run.table,
                room: run.room,
                transport: transport
            )
        )
        run.hub.attach(transport)
    }

    private var isStopping: Bool { run.shutdown.current > .serving }

    // MARK: - Connections

    func listens(on port: UInt16) {
        policy.pagesOrigin = run.configuration.pagesOrigin(port: port)
    }

    func refusal(of request: UpgradeRequest, for connection: ConnectionID) -> HTTPRefusal? {
        switch policy.evaluate(request, unavailableReason: unavailableReason) {
        case .admitted(let client):
            admitted[connection] = client
            return nil
        case .refused(let refusal, let reason):
            recordRefusal(refusal.status, request.peerAddress, reason)
            return refusal
        }
    }

    func refused(status: Int, from address: String) {
        recordRefusal(
            status,
            address,
            "it was not a valid WebSocket request, or offered no supported subprotocol"
        )
    }

    func descriptorsExhausted() {
        run.counters.change { $0.outOfDescriptors += 1 }
        run.log.descriptorsExhausted()
    }

    func evicted() {
        run.counters.change { $0.evicted += 1 }
    }

    func limitReached() {
        run.counters.change { $0.overLimit += 1 }
        run.log.limitReached()
    }

    private func recordRefusal(_ status: Int, _ address: String, _ reason: String) {
        run.counters.refused(status)
        run.log.refused(status, peer: address, reason: reason)
    }

    private var unavailableReason: String? {
        if isStopping { return "the server is stopping" }
        if admitted.count >= run.configuration.connections {
            return "the limit of \(run.configuration.connections) connections is reached"
        }
        // Otherwise new connections would add an unlimited number of arrivals.
        if run.configuration.announcesConnections && feeder.isWaiting { return "the source has no room" }
        return nil
    }

    func opened(_ connection: ConnectionID, _ handshake: Handshake) {
        guard let client = admitted[connection] else { return }
        run.counters.change { counts in
            counts.open += 1
            counts.opened += 1
            if client.usedQueryToken { counts.queryTokens += 1 }
        }
        run.hub.opened(connection)
        let facts = client.facts(subprotocol: handshake.subprotocol)
        let chat = ChatConnection(connection, principal: client.principal, hub: run.hub)
        let inbound = feeder.connection(chat, origin: Origin(source: run.configuration.source, facts: facts))
        let opened = ServerConnection(inbound, facts: facts)
        connections[connection] = opened
        if isStopping {
            close(opened)
        } else if run.configuration.announcesConnections {
            feeder.announce(.chatConnected, body: ConnectionEventBody.opened(chat, facts), on: inbound)
        }
    }

    func closed(_ connection: ConnectionID, _ reason: DisconnectReason) {
        admitted[connection] = nil
        if last?.id == connection { last = nil }
        guard let ended = connections.removeValue(forKey: connection) else { return }
        run.hub.closed(connection)
        run.counters.ended(reason)
        run.log.ended(ended, reason)
        guard run.configuration.announcesConnections, !isStopping else { return }
        let body = ConnectionEventBody.closed(ended.inbound.chat, ended.facts, reason)
        feeder.announce(.chatClosed, body: body, on: ended.inbound)
    }

    // MARK: - Messages

    func received(_ piece: MessagePiece, on connection: ConnectionID) -> PieceVerdict {
        guard let connection = find(connection) else { return .proceed }
        let verdict = feeder.received(piece, on: connection.inbound)
        connection.pieceReceived()
        if case .close(let code, _) = verdict {
            run.counters.change { counts in
                if code == .messageTooBig { counts.tooBig += 1 } else { counts.unacceptable += 1 }
            }
        }
        return verdict
    }

    private func find(_ id: ConnectionID) -> ServerConnection? {
        if let last, last.id == id { return last }
        last = connections[id]
        return last
    }

    func ponged(_ connection: ConnectionID) {}

    // MARK: - Deadlines

    func passEnded() {
        feeder.passEnded()
        if feeder.isClosed { run.shutdown.advance(to: .stopping) }
        switch run.shutdown.current {
        case .serving, .drained: break
        case .stopping: drain()
        case .closing: closeConnections()
        case .closed: break
        }
        countNotTaken()
    }

    func ticked() {
        let now = ContinuousClock.now
        if let closeDeadline, now >= closeDeadline { run.shutdown.advance(to: .closed) }
        guard !isStopping else { return }
        let checksAll = run.configuration.idleTimeout != nil
        for connection in connections.values where checksAll || connection.inbound.assembler.isInProgress {
            if !connection.isEnding { checkTimeouts(of: connection, now) }
        }
    }

    private func checkTimeouts(of connection: ServerConnection, _ now: ContinuousClock.Instant) {
        let (quiet, unfinished) = connection.elapsed(at: now)
        if unfinished >= run.configuration.messageTimeout {
            connection.isEnding = true
            run.counters.change { $0.unfinished += 1 }
            let reason = "a message took longer than \(run.configuration.messageTimeout)"
            transport.perform(.cut(.policyViolation, reason: reason), on: connection.id)
        } else if let limit = run.configuration.idleTimeout, quiet >= limit {
            connection.isEnding = true
            run.counters.change { $0.idle += 1 }
            transport.perform(.close(.goingAway, reason: "no message for \(limit)"), on: connection.id)
        }
    }

    // MARK: - Stopping

    private func drain() {
        for connection in connections.values { connection.inbound.flow.pause(.stopping) }
        feeder.close()
        run.shutdown.advance(to: .drained)
    }

    private func closeConnections() {
        if closeDeadline == nil {
            closeDeadline = .now + run.configuration.closeTimeout
            for connection in connections.values { close(connection) }
        }
        if connections.isEmpty { run.shutdown.advance(to: .closed) }
    }

    private func close(_ connection: ServerConnection) {
        connection.isEnding = true
        connection.inbound.flow.pause(.stopping)
        transport.perform(.close(.goingAway, reason: "the server is stopping"), on: connection.id)
    }

    private func countNotTaken() {
        let new = feeder.notTaken - notTaken
        guard new > 0 else { return }
        notTaken = feeder.notTaken
        run.counters.change { $0.notTaken += new }
    }
}

/// An open connection of a server. Belongs to the service's thread.
final class ServerConnection {
    let inbound: InboundConnection
    let facts: ChatFacts
    /// Whether the server has requested its close.
    var isEnding = false
    /// The number of complete messages.
    private(set) var messages = 0
    private var messagesSeen = 0
    private var quietSince: ContinuousClock.Instant
    private var unfinishedSince: ContinuousClock.Instant?

    init(_ inbound: InboundConnection, facts: ChatFacts, at now: ContinuousClock.Instant = .now) {
        self.inbound = inbound
        self.facts = facts
        quietSince = now
    }

    var id: ConnectionID { inbound.id }

    /// Records a piece. Called after each one.
    func pieceReceived() {
        if !inbound.assembler.isInProgress { messages += 1 }
    }

    /// Checks the time, so that receiving a message need not.
    ///
    /// - Returns: The time since the last message, and the time that the incomplete message has taken; both exclude
    ///   paused time. Never too large, and too small by up to the interval between two checks.
    func elapsed(at now: ContinuousClock.Instant) -> (quiet: Duration, unfinished: Duration) {
        let hasProgress = messages != messagesSeen || inbound.flow.isPaused
        messagesSeen = messages
        if hasProgress { quietSince = now }
        if !inbound.assembler.isInProgress {
            unfinishedSince = nil
        } else if unfinishedSince == nil || hasProgress {
            unfinishedSince = now
        }
        return (now - quietSince, unfinishedSince.map { now - $0 } ?? .zero)
    }
}
