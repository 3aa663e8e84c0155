import AdapterThreads
import SignalboxCore

/// An open connection of a feed. Belongs to the service's thread.
final class OpenFeed {
    let reading: ReadConnection
    let facts: ChatFacts
    let since: ContinuousClock.Instant
    /// `nil` if pings are disabled.
    var heartbeat: Heartbeat?

    init(reading: ReadConnection, facts: ChatFacts, since: ContinuousClock.Instant, heartbeat: Heartbeat?) {
        self.reading = reading
        self.facts = facts
        self.since = since
        self.heartbeat = heartbeat
    }

    var id: ConnectionID { reading.id }
}

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

    /// Handles the end of the open connection.
    func disconnected(_ end: FeedEnd) {
        // A server that accepts connections and drops them immediately must not reset the back-off.
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

/// Detects an unresponsive peer. Paused time does not count, because answers are not received then.
struct Heartbeat {
    enum Advice: Equatable {
        case nothing
        /// Send a ping.
        case ping
        /// The peer did not answer the ping.
        case dead
    }

    private let pingAfter: Duration
    private let pongWithin: Duration
    private var last: ContinuousClock.Instant
    private var hasHeard = false
    private var wasPaused = false
    private var silence = Duration.zero
    private var sincePing: Duration?
    private var isOverdue = false

    init(pingAfter: Duration, pongWithin: Duration, now: ContinuousClock.Instant) {
        self.pingAfter = pingAfter
        self.pongWithin = pongWithin
        last = now
    }

    /// Records that the peer sent something.
    mutating func hear() {
        hasHeard = true
    }

    /// Checks the deadlines. Called regularly.
    ///
    /// - Parameter isPaused: Whether reading is paused.
    mutating func tick(_ now: ContinuousClock.Instant, isPaused: Bool) -> Advice {
        let passed = now - last
        last = now
        defer { wasPaused = isPaused }
        if hasHeard {
            hasHeard = false
            silence = .zero
            sincePing = nil
            isOverdue = false
            return .nothing
        }
        if isPaused || wasPaused {
            isOverdue = false
            return .nothing
        }
        guard let waited = sincePing else { return silent(for: passed) }
        sincePing = waited + passed
        guard waited + passed >= pongWithin else { return .nothing }
        // Reported one tick later: after the thread or the machine slept, an answer may be waiting to be read.
        defer { isOverdue = true }
        return isOverdue ? .dead : .nothing
    }

    private mutating func silent(for passed: Duration) -> Advice {
        silence += passed
        guard silence >= pingAfter else { return .nothing }
        sincePing = .zero
        return .ping
    }
}
