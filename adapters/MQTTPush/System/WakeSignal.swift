#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Wakes a thread that waits in `poll`: a pipe that holds at most one unread wake-up worth noticing.
///
/// Safe on any thread. Never blocks: a full pipe means that the thread has yet to wake up anyway.
final class WakeSignal: Sendable {
    let readEnd: Int32
    private let writeEnd: Int32

    init() throws(MQTTPushError) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else {
            throw MQTTPushError(.noResources, "no file descriptor is left for a pipe; raise the limit (ulimit -n)")
        }
        for end in ends {
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
        }
        readEnd = ends[0]
        writeEnd = ends[1]
    }

    deinit {
        close(readEnd)
        close(writeEnd)
    }

    func wake() {
        var byte: UInt8 = 1
        _ = write(writeEnd, &byte, 1)
    }

    /// Forgets the wake-ups so far. Whoever waits looks at what it waits for after this call, never before it.
    func drain() {
        withUnsafeTemporaryAllocation(byteCount: 64, alignment: 1) { buffer in
            guard let start = buffer.baseAddress else { return }
            while read(readEnd, start, buffer.count) == buffer.count {}
        }
    }
}
