public import SignalboxCore

/// A dead letter in a store.
public struct DeadLetterEntry: Sendable {
    /// The letter's number, which never changes and is never used again.
    public var number: Int64
    /// The letter.
    public var letter: StoredDeadLetter
    /// How often the message became a dead letter: once, and once more for each replay that failed.
    public var failures: Int
    /// When the message became a dead letter.
    public var firstAt: WallTime
    /// When the message last became a dead letter.
    public var lastAt: WallTime
    /// Whether the letter is to be replayed.
    public var isToBeReplayed: Bool

    /// Creates an entry from stored values.
    public init(
        number: Int64,
        letter: StoredDeadLetter,
        failures: Int,
        firstAt: WallTime,
        lastAt: WallTime,
        isToBeReplayed: Bool = false
    ) {
        self.number = number
        self.letter = letter
        self.failures = failures
        self.firstAt = firstAt
        self.lastAt = lastAt
        self.isToBeReplayed = isToBeReplayed
    }
}

/// Selects dead letters. A letter is selected if it meets all conditions that are set.
public struct DeadLetterFilter: Sendable, Hashable {
    /// The letters' numbers, or empty for any.
    public var numbers: [Int64] = []
    /// The reason, such as `invalidBody`.
    public var reason: String?
    /// The source.
    public var source: SourceName?
    /// The action.
    public var action: ActionName?
    /// The earliest last failure.
    public var since: WallTime?
    /// The maximum number of letters, or `nil` for all. The letters that failed last are selected.
    public var limit: Int?

    /// Creates a filter that selects every letter.
    public init() {}
}
