import AdapterThreads
import Synchronization

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// The socket as the page's process has it. Writing may block, and with it the script.
final class WorkerSocket: Sendable {
    /// The number of its descriptor.
    static let descriptor: Int32 = 3

    private let writing = Mutex(())

    /// Writes the whole frame. Any thread. Ignores errors: they mean that the program is gone.
    func send(_ frame: WorkerFrame) {
        let bytes = frame.bytes
        writing.withLock { _ in
            bytes.withUnsafeBytes { all in
                var done = 0
                while done < all.count, let start = all.baseAddress {
                    let count = write(WorkerSocket.descriptor, start + done, all.count - done)
                    if count < 0 && errno == EINTR { continue }
                    guard count > 0 else { return }
                    done += count
                }
            }
        }
    }

    /// Reads frames on this thread until the socket ends, which means that the program is gone.
    func readAll(limit: Int, _ take: (WorkerFrame) -> Void) {
        var reader = WorkerFrameReader(limit: limit)
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(WorkerSocket.descriptor, &chunk, chunk.count)
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { return }
            chunk.withUnsafeBytes { reader.take(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
            while let frame = try? reader.next() { take(frame) }
        }
    }
}
