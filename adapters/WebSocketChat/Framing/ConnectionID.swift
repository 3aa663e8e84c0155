import Synchronization

/// The number of a connection: never given twice in a process, so what comes late for an ended connection meets nobody.
struct ConnectionID: Hashable, Sendable {
    private static let last = Atomic<UInt64>(0)

    /// Never 0.
    let number: UInt64

    init(number: UInt64) {
        self.number = number
    }

    /// A number that was not given before. Safe on any thread.
    static func next() -> ConnectionID {
        ConnectionID(number: last.add(1, ordering: .relaxed).newValue)
    }
}
