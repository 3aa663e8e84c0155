import CLibwebsockets

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

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
