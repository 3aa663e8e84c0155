import Foundation
import Synchronization

/// Lets one caller through for each line on standard input.
final class Gate: Sendable {
    private struct State {
        var lines = 0
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    init() {
        // Reading blocks, so on a thread of its own; it ends with the input or the process. Not through C's stream, which a
        // reader keeps locked while it waits: who flushes all streams would wait for it.
        Thread.detachNewThread { [self] in
            var bytes = [UInt8](repeating: 0, count: 256)
            while true {
                let count = read(STDIN_FILENO, &bytes, bytes.count)
                guard count > 0 else { break }
                for byte in bytes[..<count] where byte == UInt8(ascii: "\n") { open() }
            }
        }
    }

    /// Waits for a line that no earlier call has had. One caller at a time.
    func pass() async {
        await withCheckedContinuation { continuation in
            let mayPass = state.withLock { state in
                guard state.lines > 0 else {
                    state.waiter = continuation
                    return false
                }
                state.lines -= 1
                return true
            }
            if mayPass { continuation.resume() }
        }
    }

    private func open() {
        let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard let waiter = state.waiter else {
                state.lines += 1
                return nil
            }
            state.waiter = nil
            return waiter
        }
        waiter?.resume()
    }
}
