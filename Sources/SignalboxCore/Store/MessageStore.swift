/// Keeps a supervisor's messages on disk: the journal of sources that have one, dead letters, and the ids of handled
/// messages.
///
/// A supervisor has at most one store, and a store belongs to one running supervisor at a time. `SignalboxStore` has one that
/// uses SQLite.
///
/// All methods may be called from any thread and never block: changes are collected and committed on a thread of the store,
/// together with those of other sources. They are committed in the order of the calls. If the disk is full or a write fails, the
/// store reports it, keeps the changes and tries again, so `committed` is called late rather than never.
public protocol MessageStore: AnyObject, Sendable {
    /// A secret that is the same each time the store is opened. Content is hashed with it.
    var secret: StoreSecret { get }

    /// Adds arrivals of one source to its journal.
    ///
    /// - Parameters:
    ///   - arrivals: The arrivals, of which there is at least one.
    ///   - committed: Called on the store's thread once the arrivals are on disk, with the row of the first. The others have
    ///     the rows after it.
    func append(_ arrivals: [Arrival], committed: @escaping @Sendable (_ firstRow: Int64) -> Void)

    /// Records outcomes.
    ///
    /// - Parameters:
    ///   - settlement: What is recorded.
    ///   - committed: Called on the store's thread once the record is on disk, or `nil`.
    func record(_ settlement: StoredSettlement, committed: (@Sendable () -> Void)?)

    /// Reads the messages of a source that are in the journal, in the order in which they were appended.
    ///
    /// - Parameters:
    ///   - source: The source.
    ///   - row: Only rows after this one are read.
    ///   - count: The maximum number of messages. Must be at least 1.
    ///   - bytes: The maximum size of their original bytes. At least one message is read.
    /// - Throws: An error of the store, if the file cannot be read.
    func unfinished(of source: SourceName, after row: Int64, count: Int, bytes: Int) async throws -> [JournaledMessage]

    /// The last row of the journal that is on disk, of any source, or 0 if there was never one.
    var lastRow: Int64 { get }

    /// Returns how much of a source is in the journal.
    ///
    /// - Parameters:
    ///   - source: The source.
    ///   - row: Only rows up to this one are counted.
    /// - Throws: An error of the store, if the file cannot be read.
    func journalUse(of source: SourceName, upTo row: Int64) async throws -> JournalUse

    /// Returns when the oldest message of a source in the journal was received, or `nil` if the journal has no message of the source.
    ///
    /// - Throws: An error of the store, if the file cannot be read.
    func oldest(of source: SourceName) async throws -> WallTime?

    /// Notes that a message is about to be dispatched alone, because the program ended while it was being handled. Returns when
    /// that is on disk.
    func beginAlone(_ row: Int64) async

    /// Notes that the program did not end while a message was dispatched alone, although the message has no outcome.
    func survivedAlone(_ row: Int64)

    /// Returns the ids of a source that have not expired, in the order in which they expire.
    ///
    /// - Parameters:
    ///   - source: The source.
    ///   - count: The maximum number of ids. If there are more, those that expire last are returned.
    /// - Throws: An error of the store, if the file cannot be read.
    func handledIDs(of source: SourceName, count: Int) async throws -> [HandledID]

    /// Whether the program that used the store before ended without closing it, so that a message that was in progress may be the
    /// cause.
    var wasInterrupted: Bool { get }

    /// Returns the dead letters that are to be replayed now, in the order of their requests.
    ///
    /// - Parameter count: The maximum number of letters. Must be at least 1.
    /// - Throws: An error of the store, if the file cannot be read.
    func requestedReplays(count: Int) async throws -> [RequestedReplay]

    /// Returns how many dead letters the store keeps, or `nil` if it sets no limit.
    ///
    /// - Throws: An error of the store, if the file cannot be read.
    func deadLetterUse() async throws -> DeadLetterUse?

    /// Whether the store keeps a history of outcomes.
    var keepsHistory: Bool { get }

    /// Adds an outcome to the history. If a crash follows at once, the record may be lost: the history is for people, and nothing
    /// depends on it.
    func note(_ record: OutcomeRecord)

    /// Returns when everything that was recorded before is on disk, or when that has failed.
    func flush() async

    /// The current time of the system's wall clock.
    var now: WallTime { get }

    /// Sets what receives the store's events. There is one receiver, which is called on a thread of the store and must not
    /// block.
    func observe(_ onEvent: @escaping @Sendable (StoreEvent) -> Void)
}

// A store has no history and no limits unless it says so.
extension MessageStore {
    /// Always `nil`.
    public func deadLetterUse() async throws -> DeadLetterUse? { nil }
    /// Always `false`.
    public var keepsHistory: Bool { false }
    /// Does nothing.
    public func note(_ record: OutcomeRecord) {}
}

/// A store that knows whether its file can be written.
package protocol ReportingStore: MessageStore {
    /// Why the last commit failed, or `nil` if it succeeded. A failed commit is tried again, and until it succeeds, nothing is
    /// acknowledged.
    var writeProblem: String? { get }
}

/// A dead letter that is to be dispatched again.
public struct RequestedReplay: Sendable {
    /// The letter's number.
    public let letter: Int64
    /// The message.
    public let message: StoredMessage
    /// The action as which the message is dispatched, or `nil` for its own.
    public let action: ActionName?

    /// Creates a value.
    public init(letter: Int64, message: StoredMessage, action: ActionName?) {
        self.letter = letter
        self.message = message
        self.action = action
    }
}

/// What a store reports. Later versions may add more.
public enum StoreEvent: Sendable, Hashable {
    /// A commit failed and is tried again. Until it succeeds, nothing is acknowledged.
    case writeFailed(String)
    /// Commits succeed again after a number of failures.
    case writable(failures: Int)
    /// The store deleted a number of dead letters, because it reached a limit.
    case lettersDeleted(Int)
    /// The dead letters use this percentage of what the store keeps.
    case lettersNearlyFull(percent: Int)
    /// A number of outcomes are missing in the history, because too many were waiting for the disk.
    case historyDropped(Int)
    /// The store's log ended in the middle of a commit when the store was opened, and that commit was dropped.
    case logTorn
}

/// Three random numbers that a store keeps.
public struct StoreSecret: Sendable, Hashable {
    /// The numbers.
    public let words: [UInt64]

    /// Creates a secret.
    ///
    /// - Precondition: There are three numbers.
    public init(words: [UInt64]) {
        precondition(words.count == 3, "a store's secret has 3 numbers")
        self.words = words
    }
}

/// A message in a journal.
public struct JournaledMessage: Sendable {
    /// The row, by which the journal identifies the message.
    public let row: Int64
    /// How often the program ended while the message might have been in progress.
    public let crashes: Int
    /// The message.
    public let message: StoredMessage

    /// Creates a message from stored values.
    public init(row: Int64, crashes: Int, message: StoredMessage) {
        self.row = row
        self.crashes = crashes
        self.message = message
    }
}

/// How much of a source is in a journal.
public struct JournalUse: Sendable, Hashable {
    /// The number of unfinished messages.
    public var rows: Int
    /// The size of their original bytes.
    public var bytes: Int
    /// The row of the last message, or 0 without messages.
    public var lastRow: Int64

    /// Creates a value.
    public init(rows: Int = 0, bytes: Int = 0, lastRow: Int64 = 0) {
        self.rows = rows
        self.bytes = bytes
        self.lastRow = lastRow
    }
}

/// What a store records about an arrival that has an outcome. Everything in it is committed together.
public struct StoredSettlement: Sendable {
    /// The source of the arrival.
    public let source: SourceName
    /// The row in the journal that is finished, or `nil` if the arrival is not in the journal or stays there.
    public var row: Int64?
    /// The number of the dead letter that was replayed, or `nil`. It is removed, or replaced with ``deadLetter``.
    public var replayed: Int64?
    /// The dead letter, or `nil` if the arrival was handled.
    public var deadLetter: StoredDeadLetter?
    /// The id under which the arrival is remembered, or `nil`.
    public var handledID: HandledID?

    /// Creates a record about an arrival of a source.
    public init(source: SourceName, row: Int64? = nil, replayed: Int64? = nil) {
        self.source = source
        self.row = row
        self.replayed = replayed
    }
}

/// A message that was not handled, with what happened to it.
public struct StoredDeadLetter: Sendable {
    /// The message.
    public var message: StoredMessage
    /// `rejected` or `failed` (``Outcome/name``).
    public var outcome: String
    /// The reason, such as `invalidBody` (``Outcome/code``).
    public var reason: String
    /// What happened, in words.
    public var detail: String
    /// The path to the value in the body that caused the rejection, or `nil`.
    public var path: String?
    /// The stages that the message passed and the one that stopped it, as a JSON array.
    public var explanation: Bytes
    /// How often the plugin was called.
    public var attempts: Int
    /// The plugin that the message was meant for, or `nil` if none was found.
    public var plugin: ActionName?

    /// Creates a dead letter from stored values.
    public init(
        message: StoredMessage,
        outcome: String,
        reason: String,
        detail: String,
        path: String?,
        explanation: Bytes,
        attempts: Int,
        plugin: ActionName?
    ) {
        self.message = message
        self.outcome = outcome
        self.reason = reason
        self.detail = detail
        self.path = path
        self.explanation = explanation
        self.attempts = attempts
        self.plugin = plugin
    }
}

/// The id of a handled message, by which a store recognizes the message when it comes again.
public struct HandledID: Sendable, Hashable {
    /// The id that the sender gave the message.
    public let id: ActionID
    /// The `source` of a CloudEvent, or `nil` for other envelopes.
    public let eventSource: String?
    /// The hash of the message's name and body with the store's ``MessageStore/secret``.
    public let content: UInt64
    /// The reply, or `nil` if the plugin returned none.
    public let reply: Bytes?
    /// When the message was handled.
    public let handledAt: WallTime
    /// When the message is forgotten.
    public let expiresAt: WallTime

    /// Creates a value.
    public init(
        id: ActionID,
        eventSource: String?,
        content: UInt64,
        reply: Bytes?,
        handledAt: WallTime,
        expiresAt: WallTime
    ) {
        self.id = id
        self.eventSource = eventSource
        self.content = content
        self.reply = reply
        self.handledAt = handledAt
        self.expiresAt = expiresAt
    }
}
