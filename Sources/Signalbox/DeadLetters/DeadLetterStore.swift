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
    }

    private let state = Mutex(State())
    private let limits: DeadLetterLimits

    init(limits: DeadLetterLimits) {
        self.limits = limits
    }

    /// The dead letters kept, oldest first.
    public var letters: [DeadLetter] {
        state.withLock { $0.letters.compactMap { $0 } }
    }

    /// How many there have been, dropped ones included.
    public var total: Int { state.withLock { $0.total } }

    /// How many were dropped because the store was full.
    public var dropped: Int { state.withLock { $0.dropped } }

    func add(_ letter: DeadLetter) {
        state.withLock { state in
            state.letters.append(letter)
            state.bytes += letter.original.count
            state.total += 1
            while state.count > 0, state.count > limits.count || state.bytes > limits.bytes {
                state.dropOldest()
            }
            guard state.first > limits.count else { return }
            state.letters.removeFirst(state.first)
            state.first = 0
        }
    }
}
