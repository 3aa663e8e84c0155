import SignalboxCore

/// What an in-memory adapter holds: what waits, and what is inside the supervisor. Without threads or waiting.
struct InMemoryQueue: Sendable {
    private struct Entry {
        /// Its place among all messages, kept when it comes again.
        let place: UInt64
        let message: InMemoryMessage
    }

    private(set) var isRunning = false
    private(set) var acknowledged: [InMemoryMessage] = []
    private var waiting: [Entry] = []
    private var inside: [UInt64: Entry] = [:]
    private var places: UInt64 = 0
    private var tokens: UInt64 = 0

    var waitingCount: Int { waiting.count }
    var insideCount: Int { inside.count }

    /// - Returns: `false` when a run is in progress.
    mutating func begin() -> Bool {
        defer { isRunning = true }
        return !isRunning
    }

    /// - Returns: `false` when so many wait already.
    mutating func append(_ message: InMemoryMessage, limit: Int) -> Bool {
        guard waiting.count < limit else { return false }
        places += 1
        waiting.append(Entry(place: places, message: message))
        return true
    }

    /// Takes the oldest messages out, each with a token that no other delivery has.
    mutating func take(_ count: Int) -> [(token: UInt64, message: InMemoryMessage)] {
        let taken = waiting.prefix(count).map { entry in
            tokens += 1
            inside[tokens] = entry
            return (tokens, entry.message)
        }
        waiting.removeFirst(taken.count)
        return taken
    }

    /// Puts a message back into its place among those that wait.
    mutating func putBack(_ token: UInt64) {
        guard let entry = inside.removeValue(forKey: token) else { return }
        let index = waiting.firstIndex { $0.place > entry.place } ?? waiting.endIndex
        waiting.insert(entry, at: index)
    }

    func message(_ token: UInt64) -> InMemoryMessage? {
        inside[token]?.message
    }

    /// Records that a message may be acknowledged; at the bound the oldest record is dropped.
    mutating func acknowledge(_ token: UInt64, keeping bound: Int) {
        guard let entry = inside[token] else { return }
        if acknowledged.count >= bound { acknowledged.removeFirst(acknowledged.count - bound + 1) }
        acknowledged.append(entry.message)
    }

    mutating func settle(_ token: UInt64, comesAgain: Bool) {
        if comesAgain {
            putBack(token)
        } else {
            inside[token] = nil
        }
    }

    /// Ends a run. What waits stays where it comes again, and is let go of where it does not.
    ///
    /// - Returns: what waited.
    mutating func end(comesAgain: Bool) -> [InMemoryMessage] {
        isRunning = false
        defer { if !comesAgain { waiting = [] } }
        return waiting.map(\.message)
    }
}
