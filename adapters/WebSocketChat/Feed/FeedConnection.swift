#if WebSocket
import AdapterSupport
import SignalboxCore

/// A feed's open connection. Only the service's thread uses it.
final class FeedConnection {
    let inbound: InboundConnection
    let facts: ChatFacts
    let since: ContinuousClock.Instant
    /// Detects a lost server, or `nil` if pings are disabled.
    var heartbeat: Heartbeat?

    init(inbound: InboundConnection, facts: ChatFacts, since: ContinuousClock.Instant, heartbeat: Heartbeat?) {
        self.inbound = inbound
        self.facts = facts
        self.since = since
        self.heartbeat = heartbeat
    }

    deinit {
        // If the thread ends unexpectedly, no connection reports its end.
        inbound.chat.calls.end()
    }

    var id: ConnectionID { inbound.id }
}

extension FeedSession {
    func beginReading(_ id: ConnectionID, _ handshake: Handshake) {
        let facts = ChatFacts(
            role: .feed,
            peer: peer,
            subprotocol: handshake.subprotocol,
            tls: configuration.url.isSecure
        )
        let chat = ChatConnection(id, principal: nil, hub: context.feed.status.hub)
        let inbound = feeder.connection(chat, origin: Origin(source: configuration.source, facts: facts))
        let now = now
        let heartbeat = configuration.pingAfter.map {
            Heartbeat(pingAfter: $0, pongWithin: configuration.pongWithin, now: now)
        }
        open = FeedConnection(inbound: inbound, facts: facts, since: now, heartbeat: heartbeat)
        context.feed.status.opened(chat)
        guard configuration.announcesConnections else { return }
        feeder.announce(.chatConnected, body: ConnectionEventBody.of(chat, facts), on: inbound)
    }

    func received(_ piece: MessagePiece, on id: ConnectionID) -> PieceVerdict {
        guard isReading, let open, open.id == id else { return .proceed }
        open.heartbeat?.received()
        return feeder.received(piece, on: open.inbound)
    }

    func ponged(_ id: ConnectionID) {
        if open?.id == id { open?.heartbeat?.received() }
    }

    func closed(_ id: ConnectionID, _ reason: DisconnectReason) {
        switch phase {
        case .connecting(id, _, let preparation, let index): failed(reason, preparation, index)
        case .open where open?.id == id: disconnected(reason)
        case .halted where open?.id == id: forgetConnection()
        case .closing where open?.id == id: finish()
        default: break
        }
    }

    /// Called when the open connection has ended.
    func disconnected(_ reason: DisconnectReason) {
        // A server that accepts connections and then drops them immediately must not reset the delay.
        if let since = open?.since, let reconnect = configuration.reconnect, now - since >= reconnect.holds {
            backoff?.succeeded()
        }
        announceClosed(reason)
        let isRequested = open?.inbound.chat.isCloseRequested ?? false
        forgetConnection()
        ended(reason, isRequested: isRequested)
    }

    func announceClosed(_ reason: DisconnectReason) {
        guard configuration.announcesConnections, let current = open else { return }
        let body = ConnectionEventBody.of(current.inbound.chat, current.facts, end: reason)
        feeder.announce(.chatClosed, body: body, on: current.inbound)
    }

    func forgetConnection() {
        guard let current = open else { return }
        open = nil
        context.feed.status.closed(current.inbound.chat)
        current.inbound.chat.calls.end()
    }
}

/// Detects a peer that has stopped responding.
///
/// Time during which reading is paused does not count, because answers cannot be received then.
struct Heartbeat {
    enum Action: Equatable {
        case nothing
        /// A ping must be sent.
        case ping
        /// The peer did not answer the ping in time.
        case timedOut
    }

    private let pingAfter: Duration
    private let pongWithin: Duration
    private var last: ContinuousClock.Instant
    private var hasReceived = false
    private var wasPaused = false
    private var silence = Duration.zero
    private var sincePing: Duration?
    private var isOverdue = false

    init(pingAfter: Duration, pongWithin: Duration, now: ContinuousClock.Instant) {
        self.pingAfter = pingAfter
        self.pongWithin = pongWithin
        last = now
    }

    /// Records that the peer has sent something.
    mutating func received() {
        hasReceived = true
    }

    /// Checks the deadlines. The owner must call this regularly.
    ///
    /// - Parameter isPaused: Whether reading is paused.
    mutating func tick(_ now: ContinuousClock.Instant, isPaused: Bool) -> Action {
        let passed = now - last
        last = now
        defer { wasPaused = isPaused }
        if hasReceived {
            hasReceived = false
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
        // Report the timeout one tick later, because an answer may be waiting to be read after the thread or the
        // machine slept.
        defer { isOverdue = true }
        return isOverdue ? .timedOut : .nothing
    }

    private mutating func silent(for passed: Duration) -> Action {
        silence += passed
        guard silence >= pingAfter else { return .nothing }
        sincePing = .zero
        return .ping
    }
}
#endif
