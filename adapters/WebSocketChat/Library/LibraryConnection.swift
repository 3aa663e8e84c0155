import CLibwebsockets

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// One connection as its service's thread sees it.
final class LibraryConnection {
    enum Phase: Equatable {
        /// Not open yet.
        case opening
        case open
        /// A close frame of ours or theirs is under way: nothing is received or sent any more.
        case ending
    }

    enum Outgoing {
        case message(MessageKind, [UInt8])
        case ping
        case close(CloseCode, reason: String)
    }

    let id: ConnectionID
    /// What a client's connection was asked for.
    let target: ClientTarget?
    var handle: OpaquePointer?
    var phase = Phase.opening
    var handshake = Handshake()
    /// Why it ends, as soon as that is known.
    var end: ConnectionEnd?
    /// Closes before anything else is sent.
    var cut: (code: CloseCode, reason: String, end: ConnectionEnd)?
    /// Nothing is read while there is one.
    var pause: LibraryPause?
    /// How messages are compressed, where they are.
    var agreement: DeflateAgreement?
    /// How many offers of compression a server has seen.
    var offersSeen = 0
    // Both wait until the agreement is known.
    private(set) lazy var reading = MessageReading(agreement)
    private(set) lazy var deflater = agreement.flatMap {
        MessageDeflater(windowBits: $0.outgoingWindowBits, keepsContext: $0.outgoingKeepsContext)
    }
    /// The request has left, so what fails now is the server's answer.
    var hasAsked = false
    /// Something was written since the last `drained`.
    var owesDrained = false
    /// What the last message takes that the library has not got rid of yet.
    var unsentCost = 0
    private var outgoing: [Outgoing] = []
    private var first = 0

    init(_ id: ConnectionID, target: ClientTarget? = nil) {
        self.id = id
        self.target = target
    }

    var hasNext: Bool { first < outgoing.count }

    func append(_ next: Outgoing) {
        outgoing.append(next)
    }

    /// Forgets what waits.
    func drop() {
        outgoing = []
        first = 0
    }

    /// The next to be sent, which is then no longer waiting.
    func takeNext() -> Outgoing? {
        guard first < outgoing.count else { return nil }
        defer {
            first += 1
            if first == outgoing.count {
                outgoing = []
                first = 0
            } else if first >= 64 && first * 2 >= outgoing.count {
                outgoing.removeFirst(first)
                first = 0
            }
        }
        return outgoing[first]
    }
}

/// What is known of a connection that is not read from.
struct LibraryPause {
    /// Until when the library need not be told that the peer is there; `nil` before it was told once.
    var validUntil: ContinuousClock.Instant?
    /// When the connection is given up, as the peer has finished; what it sent before is read if it is resumed until then.
    var givenUpAt: ContinuousClock.Instant?
}

extension LibraryLoop {
    /// Carries out what other threads, and the receiver, asked for.
    func carryOut() {
        // What the receiver asks for meanwhile comes at once, too: nobody else wakes the thread for it.
        while true {
            let entries = queue.take()
            if entries.isEmpty { break }
            for entry in entries { carryOut(entry) }
        }
        stopIfDone()
    }

    private func carryOut(_ entry: ServiceQueue.Entry) {
        switch entry {
        case .connect(let id, let target): connect(id, target)
        case .message(let id, let kind, let bytes): append(.message(kind, bytes), to: id)
        case .command(let id, .ping): append(.ping, to: id)
        case .command(let id, .close(let code, let reason)):
            guard let connection = connections[id] else { return }
            if connection.phase == .opening {
                cut(connection, code, reason: reason)
            } else {
                append(.close(code, reason: reason), to: id)
            }
        case .command(let id, .cut(let code, let reason)):
            if let connection = connections[id] { cut(connection, code, reason: reason) }
        case .command(let id, .pause):
            if let connection = connections[id] { pause(connection) }
        case .command(let id, .resume):
            if let connection = connections[id] { resume(connection) }
        }
    }

    private func append(_ next: LibraryConnection.Outgoing, to id: ConnectionID) {
        guard let connection = connections[id], connection.phase == .open, let handle = connection.handle else {
            return
        }
        // Where something waits already, the library was asked.
        if !connection.hasNext { lws_callback_on_writable(handle) }
        connection.append(next)
    }

    private static func closingSeconds(_ limits: TransportLimits) -> Int32 {
        Int32(clamping: min(limits.connectWithin, 5))
    }

    /// Closes before anything else is sent. A connection that is not open yet is given up.
    ///
    /// - Parameter end: what the receiver is told, unless that we closed.
    func cut(_ connection: LibraryConnection, _ code: CloseCode, reason: String, end: ConnectionEnd? = nil) {
        guard connection.cut == nil, connection.phase != .ending else { return }
        connection.cut = (code, reason, end ?? .closedHere(code, reason: reason))
        connection.drop()
        queue.closed(connection.id)
        guard let handle = connection.handle else { return }
        if connection.phase == .open {
            // The close frame's answer is to be read.
            resume(connection)
            lws_callback_on_writable(handle)
            // A peer that takes nothing does not let itself be told either.
            lws_set_timeout(handle, PENDING_TIMEOUT_CLOSE_SEND, LibraryLoop.closingSeconds(limits))
        } else {
            connection.end = connection.cut?.end
            lws_set_timeout(handle, PENDING_TIMEOUT_CLOSE_SEND, LWS_TO_KILL_ASYNC)
        }
    }
}

extension LibraryLoop {
    func pause(_ connection: LibraryConnection) {
        guard connection.pause == nil, connection.phase == .open, let handle = connection.handle else { return }
        connection.pause = LibraryPause()
        paused[connection.id] = connection
        lws_rx_flow_control(handle, 0)
    }

    func resume(_ connection: LibraryConnection) {
        guard connection.pause != nil, let handle = connection.handle else { return }
        connection.pause = nil
        paused[connection.id] = nil
        lws_rx_flow_control(handle, 1)
        // Before anything newer is read, which the library does later.
        receiveRest(of: connection)
    }

    /// Tells paused peers from those that are gone. While nothing is read, neither a pong nor the end of a connection is seen:
    /// the library would take the first for dead, and not notice the second.
    func watchPaused() {
        guard !paused.isEmpty else { return }
        let now = ContinuousClock.now
        let watched = paused.values.filter { $0.phase == .open && $0.handle != nil }
        var sockets = watched.map { connection in
            pollfd(fd: lws_get_socket_fd(connection.handle), events: Int16(CLWS_POLL_FINISHED), revents: 0)
        }
        poll(&sockets, nfds_t(sockets.count), 0)
        for (connection, socket) in zip(watched, sockets) {
            keepValid(connection, now)
            look(at: Int32(socket.revents), of: connection, now)
        }
    }

    private func keepValid(_ connection: LibraryConnection, _ now: ContinuousClock.Instant) {
        guard limits.pingAfter > 0, let handle = connection.handle else { return }
        // At the first look, as a ping may be unanswered since before the pause.
        if let validUntil = connection.pause?.validUntil, now < validUntil { return }
        connection.pause?.validUntil = now + .seconds(limits.pingAfter) / 2
        lws_validity_confirmed(handle)
    }

    private func look(at events: Int32, of connection: LibraryConnection, _ now: ContinuousClock.Instant) {
        if events & (POLLERR | POLLHUP | POLLNVAL) != 0 { return giveUp(connection) }
        guard events & Int32(CLWS_POLL_FINISHED) != 0 else { return }
        if let givenUpAt = connection.pause?.givenUpAt {
            if now >= givenUpAt { giveUp(connection) }
        } else {
            connection.pause?.givenUpAt = now + .seconds(limits.cutAfter)
        }
    }

    private func giveUp(_ connection: LibraryConnection) {
        guard let handle = connection.handle else { return }
        connection.end = .lost
        connection.phase = .ending
        lws_set_timeout(handle, PENDING_TIMEOUT_CLOSE_SEND, LWS_TO_KILL_ASYNC)
    }
}
