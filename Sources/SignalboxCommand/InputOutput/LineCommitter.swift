import AdapterSupport
import Dispatch
import SignalboxCore
import Synchronization

/// Writes lines from many threads in order, on a serial queue.
///
/// This is a group commit: lines gather while a write is in progress, and the next write takes all of them. For a file,
/// each write includes an fsync. At most ``limit`` bytes can wait.
final class LineCommitter: Sendable {
    private struct State {
        var bytes: [UInt8] = []
        var waiting: [CheckedContinuation<Result<Void, OutputFailure>, Never>] = []
        var isWriting = false
    }

    private let state = Mutex(State())
    private let queue: DispatchQueue
    private let limit: Int
    private let write: @Sendable ([UInt8]) throws(OutputFailure) -> Void

    /// - Parameters:
    ///   - name: The label of the dispatch queue.
    ///   - limit: The maximum number of bytes that can wait. A line that would exceed the limit is refused, unless no
    ///     other line is waiting.
    ///   - write: Writes the bytes and returns once they are written. Calls may block, and they never overlap.
    init(
        name: String,
        limit: Int = 16 << 20,
        write: @escaping @Sendable ([UInt8]) throws(OutputFailure) -> Void
    ) {
        queue = DispatchQueue(label: name)
        self.limit = limit
        self.write = write
    }

    /// Enqueues the line and waits until it is written.
    ///
    /// - Throws: ``OutputFailure`` if the line was not written or may have been lost.
    func commit(_ line: [UInt8]) async throws(OutputFailure) {
        let result = await withCheckedContinuation { continuation in
            let isTaken = state.withLock { state in
                guard take(line, &state) else { return false }
                state.waiting.append(continuation)
                return true
            }
            if !isTaken { continuation.resume(returning: .failure(.full)) }
        }
        try result.get()
    }

    /// Enqueues the line without waiting for the write.
    ///
    /// - Returns: `false` if the line is dropped because too many bytes are waiting.
    func offer(_ line: [UInt8]) -> Bool {
        state.withLock { take(line, &$0) }
    }

    /// Waits until every earlier line was written or has failed, or until the time limit expires.
    ///
    /// - Returns: `false` if the time limit expired first.
    @discardableResult
    func flush(within limit: Duration) async -> Bool {
        let result = Promise<Bool>()
        queue.async { result.set(true) }
        // The timer runs on a different queue, because a stalled reader may block this one.
        DispatchQueue.global().asyncAfter(deadline: .now() + limit / .seconds(1)) { result.set(false) }
        return await result.value()
    }

    /// Enqueues the line unless too many bytes are waiting.
    private func take(_ line: [UInt8], _ state: inout State) -> Bool {
        guard state.bytes.isEmpty || state.bytes.count + line.count <= limit else { return false }
        state.bytes += line
        if !state.isWriting {
            state.isWriting = true
            // The block is enqueued under the lock, so that a later flush runs after this line's write.
            queue.async { self.writeAll() }
        }
        return true
    }

    private func writeAll() {
        while true {
            let taken = state.withLock { state -> State? in
                guard !state.bytes.isEmpty else {
                    state.isWriting = false
                    return nil
                }
                let taken = state
                state.bytes = []
                state.waiting = []
                return taken
            }
            guard let taken else { return }
            let result = Result { () throws(OutputFailure) in try write(taken.bytes) }
            for continuation in taken.waiting { continuation.resume(returning: result) }
        }
    }
}

/// The reason why a line was not written. The action is not to blame, so it is abandoned in order to be redelivered.
enum OutputFailure: RetryableError, Sendable, Hashable, CustomStringConvertible {
    /// The reader has closed its end of the pipe.
    case closed
    /// Too many bytes are waiting to be written.
    case full
    /// The reader stopped reading, and the time limit expired.
    case stalled
    /// The system refused the write.
    case system(String)

    /// Whether another attempt may succeed.
    var isRetryable: Bool { self != .closed && self != .stalled }

    /// What happens to the action after the last attempt. This is always `abandon`.
    var whenExhausted: RetryExhaustion { .abandon }

    /// A description of the failure.
    var description: String {
        switch self {
        case .closed: "the reader closed the output"
        case .full: "too many lines wait to be written"
        case .stalled: "the output was not read in time; the waiting lines are lost"
        case .system(let what): "cannot write: \(what)"
        }
    }
}
