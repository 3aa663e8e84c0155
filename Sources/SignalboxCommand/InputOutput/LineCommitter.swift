import Dispatch
import SignalboxCore
import Synchronization

/// Writes lines from many threads in the order in which they were given, on a queue of its own, as many as wait at once.
///
/// A group commit: while one write (and, for a file, its fsync) is under way the next lines gather, and go out together.
/// Bounded by ``limit`` bytes that wait.
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
    ///   - name: what the queue is called in a debugger.
    ///   - limit: the most bytes that wait; a line that would pass it is refused, unless nothing waits.
    ///   - write: writes the bytes and returns when they are where they belong. Called one at a time; may block.
    init(
        name: String,
        limit: Int = 16 << 20,
        write: @escaping @Sendable ([UInt8]) throws(OutputFailure) -> Void
    ) {
        queue = DispatchQueue(label: name)
        self.limit = limit
        self.write = write
    }

    /// Returns when the line has been written.
    ///
    /// - Throws: ``OutputFailure``; the line then does not count as written.
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

    /// Hands the line over without waiting for it.
    ///
    /// - Returns: `false` when too much waits; the line is not written then.
    func offer(_ line: [UInt8]) -> Bool {
        state.withLock { take(line, &$0) }
    }

    /// Returns when all that was given before has been written or has failed, or when the time has passed.
    ///
    /// - Returns: `false` when the time passed first.
    @discardableResult
    func flush(within limit: Duration) async -> Bool {
        let answer = FirstAnswer<Bool>()
        queue.async { answer.give(true) }
        // On another queue: this one may be held by a reader that has stopped.
        DispatchQueue.global().asyncAfter(deadline: .now() + limit / .seconds(1)) { answer.give(false) }
        return await withCheckedContinuation { answer.wait($0) }
    }

    /// Takes the line unless too much waits.
    private func take(_ line: [UInt8], _ state: inout State) -> Bool {
        guard state.bytes.isEmpty || state.bytes.count + line.count <= limit else { return false }
        state.bytes += line
        if !state.isWriting {
            state.isWriting = true
            // While the lock is held, so that the flush of whoever sees the line taken comes behind its write.
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

/// Why a line was not written. The fault is not in the line, so its action is given back.
enum OutputFailure: RetryableError, Sendable, Hashable, CustomStringConvertible {
    /// Nobody reads any more: the pipe's other end is closed.
    case closed
    /// Too much waits to be written.
    case full
    /// Whoever reads has stopped, and the time to wait for it has passed.
    case stalled
    /// The system refused.
    case system(String)

    /// Whether another attempt may succeed.
    var isRetryable: Bool { self != .closed && self != .stalled }

    /// `abandon`.
    var whenExhausted: RetryExhaustion { .abandon }

    /// In words.
    var description: String {
        switch self {
        case .closed: "nobody reads the output any more"
        case .full: "too many lines wait to be written"
        case .stalled: "the output is not read, and what waited for that is lost"
        case .system(let what): "cannot write: \(what)"
        }
    }
}
