import SignalboxCore

/// Receives a server's messages and decides on its clients. Belongs to the service's thread.
final class ServerReceiver: ServerFrameReceiver {
    let run: ServerRun
    let transport: any FrameSender
    let feeder: ArrivalFeeder
    private var policy: UpgradePolicy
    /// The accepted connections that have not ended.
    private var admitted: [ConnectionID: Admission] = [:]
    private(set) var connections: [ConnectionID: ServerConnection] = [:]
    private var last: ServerConnection?
    private var notTaken = 0
    private var leavesAt: ContinuousClock.Instant?

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

    private var isStopping: Bool { run.steps.current > .serving }

    // MARK: - Connections

    func listens(on port: UInt16) {
        policy.pagesOrigin = run.configuration.pagesOrigin(port: port)
    }

    func decide(_ request: UpgradeRequest, for connection: ConnectionID) -> UpgradeDecision {
        switch policy.answer(request, noRoom: noRoom) {
        case .admitted(let admission):
            admitted[connection] = admission
            return .accept
        case .refused(let decision, let why):
            tellRefused(decision.status ?? 0, request.peerAddress, why)
            return decision
        }
    }

    func refused(status: Int, from address: String) {
        tellRefused(
            status,
            address,
            "it was no proper request for a WebSocket, or offered no subprotocol that is spoken"
        )
    }

    func cutForDescriptors() {
        run.counters.change { $0.withoutDescriptor += 1 }
        run.log.cutForDescriptors()
    }

    func evicted() {
        run.counters.change { $0.crowdedOut += 1 }
    }

    func turnedAway() {
        run.counters.change { $0.turnedAway += 1 }
        run.log.turnedAway()
    }

    private func tellRefused(_ status: Int, _ address: String, _ why: String) {
        run.counters.refused(status)
        run.log.refused(status, peer: address, why: why)
    }

    private var noRoom: String? {
        if isStopping { return "the server is stopping" }
        if admitted.count >= run.configuration.connections {
            return "there are \(run.configuration.connections) connections, as many as there may be"
        }
        // Otherwise new connections would add an unlimited number of arrivals.
        if run.configuration.announcesConnections && feeder.isWaiting { return "the source has no room" }
        return nil
    }

    func opened(_ connection: ConnectionID, _ handshake: Handshake) {
        guard let admission = admitted[connection] else { return }
        run.counters.change { counts in
            counts.open += 1
            counts.opened += 1
            if admission.usedQueryToken { counts.queryTokens += 1 }
        }
        run.hub.opened(connection)
        let facts = admission.facts(subprotocol: handshake.subprotocol)
        let chat = ChatConnection(connection, principal: admission.principal, hub: run.hub)
        let read = feeder.connection(chat, origin: Origin(source: run.configuration.source, facts: facts))
        let opened = ServerConnection(read, facts: facts)
        connections[connection] = opened
        if isStopping {
            leave(opened)
        } else if run.configuration.announcesConnections {
            feeder.announce(.chatConnected, body: ConnectionNews.opened(chat, facts), on: read)
        }
    }

    func closed(_ connection: ConnectionID, _ end: ConnectionEnd) {
        admitted[connection] = nil
        if last?.id == connection { last = nil }
        guard let ended = connections.removeValue(forKey: connection) else { return }
        run.hub.closed(connection)
        run.counters.ended(end)
        run.log.ended(ended, end)
        guard run.configuration.announcesConnections, !isStopping else { return }
        feeder.announce(.chatClosed, body: ConnectionNews.closed(ended.read.chat, ended.facts, end), on: ended.read)
    }

    // MARK: - Messages

    func received(_ piece: MessagePiece, on connection: ConnectionID) -> PieceVerdict {
        guard let connection = find(connection) else { return .proceed }
        let verdict = feeder.received(piece, on: connection.read)
        connection.heard()
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

    func drained(_ connection: ConnectionID) {}

    // MARK: - Deadlines

    func passEnded() {
        feeder.passEnded()
        if feeder.isClosed { run.steps.advance(to: .stopping) }
        switch run.steps.current {
        case .serving, .quiet: break
        case .stopping: becomeQuiet()
        case .leaving: leave()
        case .gone: break
        }
        tellNotTaken()
    }

    func ticked() {
        let now = ContinuousClock.now
        if let leavesAt, now >= leavesAt { run.steps.advance(to: .gone) }
        guard !isStopping else { return }
        let looksAtAll = run.configuration.idleTimeout != nil
        for connection in connections.values where looksAtAll || connection.read.assembler.isUnderWay {
            if !connection.isEnding { look(at: connection, now) }
        }
    }

    private func look(at connection: ServerConnection, _ now: ContinuousClock.Instant) {
        let (quiet, unfinished) = connection.look(at: now)
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

    private func becomeQuiet() {
        for connection in connections.values { connection.read.flow.pause(.end) }
        feeder.close()
        run.steps.advance(to: .quiet)
    }

    private func leave() {
        if leavesAt == nil {
            leavesAt = .now + run.configuration.farewell
            for connection in connections.values { leave(connection) }
        }
        if connections.isEmpty { run.steps.advance(to: .gone) }
    }

    private func leave(_ connection: ServerConnection) {
        connection.isEnding = true
        connection.read.flow.pause(.end)
        transport.perform(.close(.goingAway, reason: "the server is stopping"), on: connection.id)
    }

    private func tellNotTaken() {
        let new = feeder.notTaken - notTaken
        guard new > 0 else { return }
        notTaken = feeder.notTaken
        run.counters.change { $0.notTaken += new }
    }
}

/// An open connection of a server. Belongs to the service's thread.
final class ServerConnection {
    let read: ReadConnection
    let facts: ChatFacts
    /// Whether the server has requested its close.
    var isEnding = false
    /// The number of complete messages.
    private(set) var messages = 0
    private var messagesSeen = 0
    private var quietSince: ContinuousClock.Instant
    private var unfinishedSince: ContinuousClock.Instant?

    init(_ read: ReadConnection, facts: ChatFacts, at now: ContinuousClock.Instant = .now) {
        self.read = read
        self.facts = facts
        quietSince = now
    }

    var id: ConnectionID { read.id }

    /// Records a piece. Called after each one.
    func heard() {
        if !read.assembler.isUnderWay { messages += 1 }
    }

    /// Checks the time, so that receiving a message need not.
    ///
    /// - Returns: The time since the last message, and the time that the incomplete message has taken; both exclude
    ///   paused time. Never too large, and too small by up to the interval between two checks.
    func look(at now: ContinuousClock.Instant) -> (quiet: Duration, unfinished: Duration) {
        let isMoving = messages != messagesSeen || read.flow.isPaused
        messagesSeen = messages
        if isMoving { quietSince = now }
        if !read.assembler.isUnderWay {
            unfinishedSince = nil
        } else if unfinishedSince == nil || isMoving {
            unfinishedSince = now
        }
        return (now - quietSince, unfinishedSince.map { now - $0 } ?? .zero)
    }
}
