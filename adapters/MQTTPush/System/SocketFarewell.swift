#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

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
