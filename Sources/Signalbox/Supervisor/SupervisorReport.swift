public import SignalboxCore

/// What a supervisor has done so far, and whether anything is still open.
public struct SupervisorReport: Sendable, Hashable {
    /// The outcomes of all sources together.
    public let total: OutcomeCounts
    /// The outcomes by source.
    public let sources: [SourceName: OutcomeCounts]
    /// How much of each source is inside.
    public let windows: [SourceName: WindowUse]
    /// How many arrivals are inside and not settled.
    public let unsettled: Int
    /// The plugins with a call that was settled without waiting for it and has not returned, as `source/action`, sorted.
    public let callsStillRunning: [String]
    /// How many dead letters there were, and how many of them the store had to drop.
    public let deadLetters: Int
    /// How many of the dead letters were dropped because the store was full.
    public let deadLettersDropped: Int

    /// Whether nothing was abandoned except what plugins gave back, and no call is left running: what a drain should end in.
    public var isClean: Bool { total.abandoned == total.givenBack && unsettled == 0 && callsStillRunning.isEmpty }
}
