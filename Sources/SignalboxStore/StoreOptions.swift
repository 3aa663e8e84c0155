/// The limits of a store. Creating a store traps if a value is out of range.
public struct StoreOptions: Sendable, Hashable {
    /// The dead letters that are kept.
    public var deadLetters = DeadLetterRetention()
    /// The maximum number of ids of handled messages, for all sources together. Must be between 1 and 100,000,000; the default
    /// is 1,000,000. When there are more, those that expire first are forgotten.
    public var handledIDs = 1_000_000
    /// The outcomes that are kept for `signalbox log`, or `nil` to keep none, which is the default. Each outcome is then one more row
    /// that is written.
    public var history: HistoryRetention?

    /// Creates options with the default values.
    public init() {}

    func check() {
        precondition((1...100_000_000).contains(handledIDs), "a store keeps 1 to 100,000,000 ids of handled messages")
        precondition(
            deadLetters.count >= 1 && deadLetters.bytes >= 1 && deadLetters.age > .zero,
            "a store keeps at least 1 dead letter and 1 byte, for a positive time"
        )
        guard let history else { return }
        precondition(
            (1...100_000_000).contains(history.count) && history.age > .zero,
            "a history has 1 to 100,000,000 outcomes, for a positive time"
        )
    }
}

/// Limits the dead letters of a store. When a limit is exceeded, the oldest letters are deleted and counted.
public struct DeadLetterRetention: Sendable, Hashable {
    /// The maximum number of letters. Must be at least 1; the default is 100,000.
    public var count: Int
    /// The maximum total size of the original messages, in bytes. Must be at least 1; the default is 256 MiB.
    public var bytes: Int
    /// How long a letter is kept after its last failure. Must be greater than zero; the default is 30 days.
    public var age: Duration

    /// Creates limits.
    public init(count: Int = 100_000, bytes: Int = 256 * 1024 * 1024, age: Duration = .seconds(30 * 86_400)) {
        self.count = count
        self.bytes = bytes
        self.age = age
    }

    /// Returns the share of the limit that is closest.
    func fullness(count: Int, bytes: Int) -> Double {
        max(Double(count) / Double(self.count), Double(bytes) / Double(self.bytes))
    }
}

/// Limits the history of outcomes. When a limit is exceeded, the oldest outcomes are deleted, a few hundred at a time.
public struct HistoryRetention: Sendable, Hashable {
    /// The maximum number of outcomes. Must be between 1 and 100,000,000; the default is 100,000. Up to 1,000 more may be on disk.
    public var count: Int
    /// How long an outcome is kept. Must be greater than zero; the default is 7 days. Outcomes are deleted when later ones are added.
    public var age: Duration

    /// Creates limits.
    public init(count: Int = 100_000, age: Duration = .seconds(7 * 86_400)) {
        self.count = count
        self.age = age
    }
}
