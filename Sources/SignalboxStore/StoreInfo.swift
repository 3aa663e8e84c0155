public import SignalboxCore

/// What a store contains.
public struct StoreInfo: Sendable, Hashable {
    /// The version of the file's tables.
    public var version = 0
    /// The size of the file and its write-ahead log, in bytes.
    public var fileBytes = 0
    /// The unfinished messages of each source with a journal.
    public var journal: [SourceName: JournalUse] = [:]
    /// The number of dead letters.
    public var deadLetters = 0
    /// The size of the dead letters' original messages, in bytes.
    public var deadLetterBytes = 0
    /// The number of dead letters that are to be replayed.
    public var replays = 0
    /// The number of remembered ids.
    public var handledIDs = 0
    /// The number of outcomes in the history.
    public var outcomes = 0
}
