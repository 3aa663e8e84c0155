#if WebSocket
import SignalboxCore

/// Receives a server's messages and decides which clients may connect. Only the service's thread uses it.
final class ServerReceiver: ServerFrameReceiver {
    let run: ServerRun
    let transport: any FrameSender
    let feeder: ArrivalFeeder
    private var policy: UpgradePolicy
    /// The connections that were accepted and have not ended yet.
    private var admitted: [ConnectionID: (facts: ChatFacts, usedQueryToken: Bool)] = [:]
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
                frames: run.server.configuration.frames,
                limits: run.server.configuration.limits,
                connectionWindow: run.server.configuration.connectionWindow,
                intake: run.intake,
                table: run.table,
                room: run.room,
                transport: transport
            )
        )
        run.server.hub.attach(transport)
    }

    deinit {
        // If the thread ends unexpectedly, no connection reports its end.
        for connection in connections.values { connection.inbound.chat.calls.end() }
    }

    private var isStopping: Bool { run.shutdown.current > .serving }

    // MARK: - Connections

    func listens(on port: UInt16) {
        policy.pagesOrigin = run.server.configuration.pagesOrigin(port: port)
    }

    func refusal(of request: UpgradeRequest, for connection: ConnectionID) -> HTTPRefusal? {
        switch policy.evaluate(request, unavailableReason: unavailableReason) {
        case .admitted(let facts, let usedQueryToken):
            admitted[connection] = (facts, usedQueryToken)
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
        run.server.counters.change { $0.outOfDescriptors += 1 }
        run.server.log.descriptorsExhausted()
    }

    func evicted() {
        run.server.counters.change { $0.evicted += 1 }
    }

    func limitReached() {
        run.server.counters.change { $0.overLimit += 1 }
        run.server.log.limitReached()
    }

    private func recordRefusal(_ status: Int, _ address: String, _ reason: String) {
        run.server.counters.refused(status)
        run.server.log.refused(status, peer: address, reason: reason)
    }

    private var unavailableReason: String? {
        if isStopping { return "the server is stopping" }
        if admitted.count >= run.server.configuration.connections {
            return "the limit of \(run.server.configuration.connections) connections is reached"
        }
        // Otherwise, new connections would add an unlimited number of arrivals.
        if run.server.configuration.announcesConnections && feeder.isWaiting { return "the source has no room" }
        return nil
    }

    func opened(_ connection: ConnectionID, _ handshake: Handshake) {
        guard let client = admitted[connection] else { return }
        run.server.counters.change { counts in
            counts.open += 1
            counts.opened += 1
            if client.usedQueryToken { counts.queryTokens += 1 }
        }
        run.server.hub.opened(connection)
        var facts = client.facts
        facts.subprotocol = handshake.subprotocol
        let chat = ChatConnection(connection, principal: facts.principal, hub: run.server.hub)
        let inbound = feeder.connection(chat, origin: Origin(source: run.server.configuration.source, facts: facts))
        let opened = ServerConnection(inbound, facts: facts)
        connections[connection] = opened
        if isStopping {
            close(opened)
        } else if run.server.configuration.announcesConnections {
            feeder.announce(.chatConnected, body: ConnectionEventBody.of(chat, facts), on: inbound)
        }
    }

    func closed(_ connection: ConnectionID, _ reason: DisconnectReason) {
        admitted[connection] = nil
        if last?.id == connection { last = nil }
        guard let ended = connections.removeValue(forKey: connection) else { return }
        run.server.hub.closed(connection)
        ended.inbound.chat.calls.end()
        run.server.counters.ended(reason)
        run.server.log.ended(ended, reason)
        guard run.server.configuration.announcesConnections, !isStopping else { return }
        let body = ConnectionEventBody.of(ended.inbound.chat, ended.facts, end: reason)
        feeder.announce(.chatClosed, body: body, on: ended.inbound)
    }

    // MARK: - Messages

    func received(_ piece: MessagePiece, on connection: ConnectionID) -> PieceVerdict {
        guard let connection = find(connection) else { return .proceed }
        let verdict = feeder.received(piece, on: connection.inbound)
        connection.pieceReceived()
        if case .close(let code, _) = verdict {
            run.server.counters.change { counts in
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
        case .serving, .drained, .closed: break
        case .stopping: drain()
        case .closing: closeConnections()
        }
        countNotTaken()
    }

    func ticked() {
        let now = ContinuousClock.now
        if let closeDeadline, now >= closeDeadline { run.shutdown.advance(to: .closed) }
        guard !isStopping else { return }
        let checksAll = run.server.configuration.idleTimeout != nil
        for connection in connections.values where checksAll || connection.inbound.assembler.isInProgress {
            if !connection.isEnding { checkTimeouts(of: connection, now) }
        }
    }

    private func checkTimeouts(of connection: ServerConnection, _ now: ContinuousClock.Instant) {
        let (quiet, unfinished) = connection.elapsed(at: now)
        if unfinished >= run.server.configuration.messageTimeout {
            connection.isEnding = true
            run.server.counters.change { $0.unfinished += 1 }
            let reason = "a message took longer than \(run.server.configuration.messageTimeout)"
            transport.perform(.cut(.policyViolation, reason: reason), on: connection.id)
        } else if let limit = run.server.configuration.idleTimeout, quiet >= limit {
            connection.isEnding = true
            run.server.counters.change { $0.idle += 1 }
            transport.perform(.close(.goingAway, reason: "no message for \(limit)"), on: connection.id)
        }
    }

    // MARK: - Stopping

    private func drain() {
        for connection in connections.values {
            connection.inbound.flow.pause(.stopping)
            // No answer is read anymore, so a plugin that waits for one would hold up the end.
            connection.inbound.chat.calls.end()
        }
        feeder.close()
        run.shutdown.advance(to: .drained)
    }

    private func closeConnections() {
        if closeDeadline == nil {
            closeDeadline = .now + run.server.configuration.closeTimeout
            for connection in connections.values { close(connection) }
        }
        if connections.isEmpty { run.shutdown.advance(to: .closed) }
    }

    private func close(_ connection: ServerConnection) {
        connection.isEnding = true
        connection.inbound.flow.pause(.stopping)
        connection.inbound.chat.calls.end()
        transport.perform(.close(.goingAway, reason: "the server is stopping"), on: connection.id)
    }

    private func countNotTaken() {
        let new = feeder.notTaken - notTaken
        guard new > 0 else { return }
        notTaken = feeder.notTaken
        run.server.counters.change { $0.notTaken += new }
    }
}

/// A server's open connection. Only the service's thread uses it.
final class ServerConnection {
    let inbound: InboundConnection
    let facts: ChatFacts
    /// Whether the server has asked for the connection to be closed.
    var isEnding = false
    /// The number of complete messages received.
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

    /// Records that a piece has arrived. The receiver calls this after each piece.
    func pieceReceived() {
        if !inbound.assembler.isInProgress { messages += 1 }
    }

    /// Returns how long the connection has been quiet and how long its incomplete message has taken so far.
    ///
    /// The time is compared only here, so that receiving a message does not have to read the clock. Each duration can
    /// be too short by up to the interval between two checks, but is never too long.
    ///
    /// - Returns: The time since the last message, and the time that the incomplete message has taken. A pause restarts
    ///   both, so neither includes paused time.
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
#endif
