/// Waits for events on a socket and a wake signal, and holds the result.
package struct SocketWait {
    /// The socket events to wait for. A socket error always ends the wait.
    package struct Interest: OptionSet {
        package let rawValue: Int16

        package init(rawValue: Int16) {
            self.rawValue = rawValue
        }

        package static let readable = Interest(rawValue: Int16(POLLIN))
        package static let writable = Interest(rawValue: Int16(POLLOUT))
        /// Waits only for the peer to end the connection. Linux reports this as `POLLRDHUP`; other systems do not
        /// report it.
        package static let hangUp = Interest(rawValue: SocketWait.peerClosed)
    }

    package private(set) var isReady = false
    package private(set) var isClosed = false
    package private(set) var isWoken = false

    #if os(Linux)
    // The value of POLLRDHUP in <bits/poll.h>. Swift does not import C macros of this form.
    private static let peerClosed: Int16 = 0x2000
    #else
    private static let peerClosed: Int16 = 0
    #endif

    /// Waits until an event occurs, a POSIX signal arrives, or the time limit expires.
    ///
    /// - Parameters:
    ///   - socket: The socket, or -1 for no socket.
    ///   - wake: The readable end of the wake signal, or -1 for no signal.
    ///   - limit: The maximum wait, rounded up to milliseconds. A wait is never longer than one day.
    package init(socket: Int32, for interest: Interest, wake: Int32, limit: Duration) {
        var waited = (
            pollfd(fd: socket, events: interest.rawValue, revents: 0),
            pollfd(fd: wake, events: Int16(POLLIN), revents: 0)
        )
        let found = withUnsafeMutablePointer(to: &waited) { pair in
            pair.withMemoryRebound(to: pollfd.self, capacity: 2) { poll($0, 2, limit.pollMilliseconds) }
        }
        guard found > 0 else { return }
        let closing = Int16(POLLHUP | POLLERR | POLLNVAL) | SocketWait.peerClosed
        isReady = waited.0.revents != 0
        isClosed = waited.0.revents & closing != 0
        isWoken = waited.1.revents != 0
    }
}

/// Keeps a connection open, through a duplicate of its socket, until the peer has read everything that was sent.
///
/// If the socket were closed at once, acknowledgements that were already written could be lost in two ways:
/// - If there is unread data from the peer, the system resets the connection.
/// - If a new connection with the same client id reaches a broker first, the broker discards the old connection's
///   remaining data.
///
/// In both cases, a broker would redeliver messages that were already handled.
package struct LingeringClose: ~Copyable {
    private let socket: Int32

    /// - Returns: `nil` if there is no socket, or if the system has no file descriptor left.
    package init?(_ socket: Int32) {
        guard socket >= 0 else { return nil }
        let copy = fcntl(socket, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else { return nil }
        self.socket = copy
    }

    deinit {
        close(socket)
    }

    /// Shuts down the sending side and waits for the peer to close its side. Everything that the peer sends in the
    /// meantime is discarded.
    ///
    /// - Parameter limit: The maximum wait.
    /// - Returns: Whether the peer has closed its side, which it does after it has read everything. If the connection was
    ///   reset, the result is `false`.
    @discardableResult
    package consuming func wait(limit: Duration) -> Bool {
        let deadline = ContinuousClock.now + limit
        shutdown(socket, Int32(SHUT_WR))
        var buffer = [UInt8](repeating: 0, count: 16 * 1_024)
        while true {
            let left = deadline - .now
            guard left > .zero else { return false }
            guard SocketWait(socket: socket, for: .readable, wake: -1, limit: left).isReady else { continue }
            let count = recv(socket, &buffer, buffer.count, Int32(MSG_DONTWAIT))
            guard count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR)) else { return count == 0 }
        }
    }
}
