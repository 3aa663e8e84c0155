import SignalboxCore
import Synchronization

/// The dead letters of a supervisor, in memory, bounded. Safe on any thread.
public final class DeadLetterStore: Sendable {
    private struct State {
        /// Dropped ones are `nil` until the array is compacted, so that their bytes are free at once.
        var letters: [DeadLetter?] = []
        var first = 0
        var bytes = 0
        var dropped = 0
        var total = 0

        var count: Int { letters.count - first }

        mutating func dropOldest() {
            bytes -= letters[first]?.original.count ?? 0
            letters[first] = nil
            first += 1
            dropped += 1
        }

        mutating func compact() {
            guard first >= 64, first * 2 > letters.count else { return }
            letters.removeFirst(first)
            first = 0
        }
    }

    private let state = Mutex(State())
    private let listeners = DeadLetterListeners()
    private let limits: DeadLetterLimits

    init(limits: DeadLetterLimits) {
        self.limits = limits
    }

    /// The dead letters kept, oldest first.
    public var letters: [DeadLetter] {
        state.withLock { state in state.letters[state.first...].compactMap { $0 } }
    }

    /// How many there have been, dropped ones included.
    public var total: Int { state.withLock { $0.total } }

    /// How many were dropped because the store was full. A log line tells of them, at most once a minute.
    public var dropped: Int { state.withLock { $0.dropped } }

    /// How many did not reach a listener of ``stream(limit:)`` because it was too slow, each counted once for each such
    /// listener.
    public var undelivered: Int { listeners.undelivered }

    /// Every dead letter from now on, as it is stored, also one that the store drops at once. Any number of listeners, each
    /// with a stream of its own, which ends when the supervisor's run does.
    ///
    /// Those of one source's messages come in the order in which they were decided, as far as one thread decided them.
    ///
    /// - Parameter limit: how many wait for a slow listener, at least 1. Beyond it the oldest of them are dropped, and
    ///   counted in ``undelivered``; the store keeps its own.
    public func stream(limit: Int = 256) -> AsyncStream<DeadLetter> {
        listeners.add(limit: limit)
    }

    func add(_ letter: DeadLetter) {
        let size = letter.original.count
        state.withLock { state in
            state.total += 1
            // One that is larger than the whole store must not drive out all others.
            guard size <= limits.bytes else {
                state.dropped += 1
                return
            }
            state.letters.append(letter)
            state.bytes += size
            while state.count > limits.count || state.bytes > limits.bytes { state.dropOldest() }
            state.compact()
        }
        listeners.tell(letter)
    }

    /// Ends the streams, when no dead letter comes any more.
    func endStreams() { listeners.end() }
}
