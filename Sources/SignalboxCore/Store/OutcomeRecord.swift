/// One line of a store's history: what came of an arrival.
public struct OutcomeRecord: Sendable, Hashable {
    /// The source of the arrival.
    public var source: SourceName
    /// The action's name, or `nil` if the message could not be read.
    public var action: String?
    /// The action's id, or `nil` if the message could not be read.
    public var id: String?
    /// The plugin that the arrival was meant for, or `nil` if none was found.
    public var plugin: String?
    /// `handled`, `rejected`, `failed` or `abandoned` (``Outcome/name``).
    public var outcome: String
    /// The reason, such as `invalidBody` (``Outcome/code``).
    public var reason: String
    /// What happened, in words. Empty if the arrival was handled.
    public var detail: String
    /// The path to the value in the body that caused the rejection, or `nil`.
    public var path: String?
    /// How often the plugin was called.
    public var attempts: Int
    /// Whether the arrival received the outcome of an earlier one with the same id.
    public var isDuplicate: Bool
    /// Whether the arrival may have been dispatched before (``Arrival/isRedelivered``).
    public var isRedelivered: Bool
    /// When the message was received.
    public var receivedAt: WallTime
    /// When the outcome was known.
    public var settledAt: WallTime

    /// Creates a record from stored values.
    public init(
        source: SourceName,
        action: String?,
        id: String?,
        plugin: String?,
        outcome: String,
        reason: String,
        detail: String,
        path: String?,
        attempts: Int,
        isDuplicate: Bool,
        isRedelivered: Bool,
        receivedAt: WallTime,
        settledAt: WallTime
    ) {
        self.source = source
        self.action = action
        self.id = id
        self.plugin = plugin
        self.outcome = outcome
        self.reason = reason
        self.detail = detail
        self.path = path
        self.attempts = attempts
        self.isDuplicate = isDuplicate
        self.isRedelivered = isRedelivered
        self.receivedAt = receivedAt
        self.settledAt = settledAt
    }
}

/// How many dead letters a store keeps.
public struct DeadLetterUse: Sendable, Hashable {
    /// The number of letters.
    public var count: Int
    /// The total size of their original messages, in bytes.
    public var bytes: Int
    /// The share of the limit that is closest, from 0 to 1. At 1, the oldest letters are deleted.
    public var fullness: Double

    /// Creates a value.
    public init(count: Int, bytes: Int, fullness: Double) {
        self.count = count
        self.bytes = bytes
        self.fullness = fullness
    }
}
