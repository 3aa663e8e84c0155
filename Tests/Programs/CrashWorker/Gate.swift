import Foundation
import Synchronization

/// Lets one caller through for each line on standard input but `leave`, which is told to whoever made it.
final class Gate: Sendable {
    private struct State {
        var lines = 0
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    init(onLeave: @escaping @Sendable () -> Void) {
        // Reading blocks, so on a thread of its own; it ends with the input or the process. Not through C's stream, which a
        // reader keeps locked while it waits: who flushes all streams would wait for it.
        Thread.detachNewThread { [self] in
            var line: [UInt8] = []
            var byte: UInt8 = 0
            while read(STDIN_FILENO, &byte, 1) == 1 {
                guard byte == UInt8(ascii: "\n") else {
                    line.append(byte)
                    continue
                }
                if line.elementsEqual("leave".utf8) { onLeave() } else { open() }
                line = []
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
