import AdapterThreads

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// What a wait on a socket and a wake signal found.
struct SocketWait {
    /// What to wait for on the socket. That it broke is always waited for.
    enum Interest {
        case readable
        case writable
        case readableOrWritable
        /// Only that the peer closed it, where the system can tell (Linux: `POLLRDHUP`).
        case hangUp
    }

    private(set) var isReady = false
    private(set) var isClosed = false
    private(set) var isWoken = false

    #if os(Linux)
    // The C macro has a form that Swift does not import: <bits/poll.h>, POLLRDHUP.
    private static let peerClosed: Int16 = 0x2000
    #else
    private static let peerClosed: Int16 = 0
    #endif

    /// Waits until something happens or `limit` has passed; earlier also on a signal.
    ///
    /// - Parameters:
    ///   - socket: -1 for none.
    ///   - wake: -1 for none.
    ///   - limit: rounded up to milliseconds, at most one day.
    init(socket: Int32, for interest: Interest, wake: Int32, limit: Duration) {
        let events =
            switch interest {
            case .readable: Int16(POLLIN)
            case .writable: Int16(POLLOUT)
            case .readableOrWritable: Int16(POLLIN) | Int16(POLLOUT)
            case .hangUp: SocketWait.peerClosed
            }
        var waited = (
            pollfd(fd: socket, events: events, revents: 0), pollfd(fd: wake, events: Int16(POLLIN), revents: 0)
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

    /// Sends bytes at once and whole, without raising `SIGPIPE`.
    ///
    /// - Returns: `false` when the connection is of no more use: it is closed, or took a part only.
    static func send(_ bytes: [UInt8], to socket: Int32) -> Bool {
        #if os(Linux)
        let flags = Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL)
        #else
        let flags = MSG_DONTWAIT
        #endif
        #if canImport(Darwin)
        let sent = Darwin.send(socket, bytes, bytes.count, flags)
        #elseif canImport(Musl)
        let sent = Musl.send(socket, bytes, bytes.count, flags)
        #else
        let sent = Glibc.send(socket, bytes, bytes.count, flags)
        #endif
        return sent == bytes.count || (sent < 0 && (errno == EAGAIN || errno == EINTR))
    }
}

/// A second hold on a connection's socket, so that the connection ends when the broker has read all that was sent.
///
/// Closing at once loses acknowledgements that were written: where bytes of the broker lie unread the system resets the
/// connection, and a new connection under the same client id may reach the broker before the rest of the old one, which it
/// then throws away. Either way messages that were handled come again although nothing failed.
struct SocketFarewell: ~Copyable {
    private let socket: Int32

    /// - Returns: `nil` when there is no socket, or the system has no descriptor left.
    init?(_ socket: Int32) {
        guard socket >= 0 else { return nil }
        let copy = fcntl(socket, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else { return nil }
        self.socket = copy
    }

    deinit {
        close(socket)
    }

    /// Says that nothing more comes, and waits until the broker has closed its side too; what it still sends is thrown away.
    ///
    /// - Parameter limit: how long to wait at most.
    consuming func wait(limit: Duration) {
        let deadline = ContinuousClock.now + limit
        shutdown(socket, Int32(SHUT_WR))
        var buffer = [UInt8](repeating: 0, count: 16 * 1_024)
        while true {
            let left = deadline - .now
            guard left > .zero else { return }
            guard SocketWait(socket: socket, for: .readable, wake: -1, limit: left).isReady else { continue }
            let count = recv(socket, &buffer, buffer.count, Int32(MSG_DONTWAIT))
            guard count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR)) else { return }
        }
    }
}
