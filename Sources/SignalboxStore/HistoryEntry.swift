public import SignalboxCore

/// An outcome in a store's history.
public struct HistoryEntry: Sendable, Hashable {
    /// The number of the entry. Later outcomes have greater numbers, and no number is used again.
    public var number: Int64
    /// The outcome.
    public var record: OutcomeRecord
}

/// Selects outcomes of a history. An outcome is selected if it meets all conditions that are set.
public struct HistoryFilter: Sendable, Hashable {
    /// The source.
    public var source: SourceName?
    /// The action.
    public var action: ActionName?
    /// The outcome, such as `rejected`, or a reason, such as `invalidBody`.
    public var outcome: String?
    /// The earliest time of the outcome.
    public var since: WallTime?
    /// Only entries after this one.
    public var after: Int64?
    /// The maximum number of entries, or `nil` for all. The latest are selected.
    public var limit: Int?

    /// Creates a filter that selects every outcome.
    public init() {}
}
