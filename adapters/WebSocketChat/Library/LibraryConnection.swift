#if WebSocket
import AdapterSupport
import CLibwebsockets
import DequeModule
import SignalboxCore

/// A connection as seen by its service's thread.
final class LibraryConnection {
    enum Phase: Equatable {
        /// The connection has not opened yet.
        case opening
        case open
        /// A close frame was sent or received. No more messages are sent or received.
        case closing
    }

    enum Outgoing {
        case message(MessageKind, [UInt8])
        case ping
        case close(CloseCode, reason: String)
    }

    let id: ConnectionID
    let site: LoadedSite
    /// The receiver of the site.
    let receiver: any ServerFrameReceiver
    var handle: OpaquePointer?
    var phase = Phase.opening
    var handshake = Handshake()
    /// Why the connection ends, if known.
    var closeReason: DisconnectReason?
    /// A close that takes effect immediately and is written before all other output.
    var cut: (code: CloseCode, reason: String, closeReason: DisconnectReason)?
    /// The state of the pause, or `nil` if reading is not paused.
    var pause: LibraryPause?
    /// The negotiated compression, if any.
    var agreement: DeflateAgreement?
    /// The number of compression offers that the server has examined.
    var offersSeen = 0
    // Lazy, because the decoder and the deflater depend on the agreement.
    private(set) lazy var decoder = FrameDecoder(agreement)
    private(set) lazy var deflater = agreement.flatMap {
        MessageDeflater(windowBits: $0.outgoingWindowBits, contextTakeover: $0.outgoingContextTakeover)
    }
    /// The cost of the messages of the last write, if the library still buffers some of it.
    var unsentCost = 0
    /// The output that has not been passed to the library yet.
    var outgoing = Deque<Outgoing>()

    init(_ id: ConnectionID, of site: LoadedSite, _ receiver: any ServerFrameReceiver) {
        self.id = id
        self.site = site
        self.receiver = receiver
    }
}

/// The state of a paused connection.
struct LibraryPause {
    /// When the library next needs to be assured that the peer is alive, or `nil` before the first time.
    var validUntil: ContinuousClock.Instant?
    /// When to give up the connection because the peer has finished. If the connection resumes before this time, its
    /// remaining data is read.
    var terminationDeadline: ContinuousClock.Instant?
}

extension LibraryLoop {
    /// Processes the commands that other threads and the receiver have queued.
    func performCommands() {
        // Continue until there are no more commands. Nothing else would wake the thread for those that the receiver
        // adds in the meantime.
        while true {
            let entries = queue.take()
            if entries.isEmpty { break }
            for entry in entries { perform(entry) }
        }
        stopIfDone()
    }

    private func perform(_ entry: ServiceQueue.Entry) {
        switch entry {
        // Only clients queue these.
        case .connect, .feed: break
        case .site(let command): perform(command)
        case .exchange(let id, let command): perform(command, on: id)
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
        // If there is pending output, the callback has already been requested.
        if connection.outgoing.isEmpty { lws_callback_on_writable(handle) }
        connection.outgoing.append(next)
    }

    private static func closingSeconds(_ limits: TransportLimits) -> Int32 {
        Int32(clamping: min(limits.connectWithin, 5))
    }

    /// Closes the connection before anything else is sent. A connection that is not open is aborted.
    ///
    /// - Parameter closeReason: The reason to report to the receiver, or `nil` to report `closedLocally`.
    func cut(
        _ connection: LibraryConnection,
        _ code: CloseCode,
        reason: String,
        closeReason: DisconnectReason? = nil
    ) {
        guard connection.cut == nil, connection.phase != .closing else { return }
        connection.cut = (code, reason, closeReason ?? .closedLocally(code, reason: reason))
        connection.outgoing = Deque()
        queue.closed(connection.id)
        guard let handle = connection.handle else { return }
        if connection.phase == .open {
            // The peer's close frame must be read.
            resume(connection)
            lws_callback_on_writable(handle)
            // A peer that does not read cannot receive the close frame either.
            lws_set_timeout(handle, PENDING_TIMEOUT_CLOSE_SEND, LibraryLoop.closingSeconds(limits))
        } else {
            connection.closeReason = connection.cut?.closeReason
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
        // The input that was held back comes before anything that the library reads later.
        receiveRest(of: connection)
    }

    /// Checks whether the peers of paused connections are still there.
    ///
    /// While reading is paused, the library notices neither pongs nor the end of a connection. It would therefore cut a
    /// healthy peer and would not detect a lost one.
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
            checkSocket(Int32(socket.revents), of: connection, now)
        }
    }

    private func keepValid(_ connection: LibraryConnection, _ now: ContinuousClock.Instant) {
        guard limits.pingAfter > 0, let handle = connection.handle else { return }
        // The first check confirms the peer immediately, because a ping sent before the pause may still be unanswered.
        if let validUntil = connection.pause?.validUntil, now < validUntil { return }
        connection.pause?.validUntil = now + .seconds(limits.pingAfter) / 2
        lws_validity_confirmed(handle)
    }

    private func checkSocket(_ events: Int32, of connection: LibraryConnection, _ now: ContinuousClock.Instant) {
        if events & (POLLERR | POLLHUP | POLLNVAL) != 0 { return terminate(connection) }
        guard events & Int32(CLWS_POLL_FINISHED) != 0 else { return }
        if let terminationDeadline = connection.pause?.terminationDeadline {
            if now >= terminationDeadline { terminate(connection) }
        } else {
            connection.pause?.terminationDeadline = now + .seconds(limits.cutAfter)
        }
    }

    private func terminate(_ connection: LibraryConnection) {
        guard let handle = connection.handle else { return }
        connection.closeReason = .lost
        connection.phase = .closing
        lws_set_timeout(handle, PENDING_TIMEOUT_CLOSE_SEND, LWS_TO_KILL_ASYNC)
    }
}
#endif
