import Foundation

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// The other side said nothing for so long that a test gives up.
struct Silence: Error {}

extension RawPeer {
    /// Each write leaves at once, so that single bytes are segments of their own.
    func hurry() {
        var yes: Int32 = 1
        setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
    }

    /// What comes next; empty when the other side has closed, or reset, the connection.
    func chunk() async throws -> [UInt8] {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { [self] in
                var limit = timeval(tv_sec: RawPeer.patience, tv_usec: 0)
                setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
                var buffer = [UInt8](repeating: 0, count: 65_536)
                let count = recv(socket, &buffer, buffer.count, 0)
                if count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) {
                    continuation.resume(throwing: Silence())
                } else {
                    continuation.resume(returning: Array(buffer.prefix(max(0, count))))
                }
            }
        }
    }
}
