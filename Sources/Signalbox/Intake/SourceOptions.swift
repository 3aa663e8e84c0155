/// The options of one source.
struct SourceOptions: Sendable {
    let window: WindowLimits
    let rateLimit: RateLimit?
    let deduplication: DeduplicationPolicy
}

/// The maximum amount of work from one source inside the supervisor, from submission to settlement.
///
/// When the window is full, `Intake.submit(_:to:)` takes fewer arrivals than the adapter offers, and the adapter stops
/// reading from its transport. Nothing is dropped. Use a smaller window to bound the memory that one source can occupy.
public struct WindowLimits: Sendable, Hashable {
    /// The maximum number of arrivals. The valid range is 1 to 1,000,000, and the default is 1,000.
    public var arrivals: Int { didSet { check() } }
    /// The maximum size of the arrivals' original messages, in bytes. The valid range is 1 to 2^40 - 1, and the default
    /// is 16 MiB. While a quarter of the limit is free, one arrival may exceed it.
    public var bytes: Int { didSet { check() } }

    /// Creates window limits.
    ///
    /// - Precondition: Both values are in their ranges.
    public init(arrivals: Int = 1_000, bytes: Int = 16 * 1024 * 1024) {
        self.arrivals = arrivals
        self.bytes = bytes
        check()
    }

    private func check() {
        precondition((1...1_000_000).contains(arrivals), "a window holds 1 to 1,000,000 arrivals")
        precondition((1..<(1 << 40)).contains(bytes), "a window holds 1 to 2^40 - 1 bytes")
    }
}

/// The maximum rate of arrivals from one source.
///
/// The effect depends on the source. A source that redelivers messages is slowed down, and nothing is refused:
/// `Intake.submit(_:to:)` takes fewer arrivals, and `room()` waits until enough of the burst is available again. Enough
/// is a quarter of the burst, or one second's worth if that is less. For any other source, arrivals that exceed the
/// limit are `rejected(overloaded)`, so that their callers do not wait.
public struct RateLimit: Sendable, Hashable {
    /// The long-term rate in arrivals per second. The valid range is 1 to 10,000,000.
    public var perSecond: Int { didSet { check() } }
    /// The maximum number of arrivals at once after a pause. The valid range is 1 to 10,000,000, and the default is one
    /// second's worth. Time is counted in ticks of the supervisor, 100 ms by default, so a burst below one tick's worth
    /// limits the rate to one burst per tick.
    public var burst: Int { didSet { check() } }

    /// Creates a rate limit.
    ///
    /// - Precondition: Both values are in their ranges.
    public init(perSecond: Int, burst: Int? = nil) {
        self.perSecond = perSecond
        self.burst = burst ?? perSecond
        check()
    }

    private func check() {
        precondition((1...10_000_000).contains(perSecond), "a rate limit admits 1 to 10,000,000 arrivals per second")
        precondition((1...10_000_000).contains(burst), "a rate limit admits bursts of 1 to 10,000,000 arrivals")
    }
}

/// Whether the messages of a source are deduplicated. A message is identified by its sender's id or, for CloudEvents,
/// by `source` and id.
///
/// A duplicate of a running message waits for that message and receives the same outcome. A duplicate of a handled
/// message receives the outcome `handled` with the same reply, and the plugin is not called. After any other outcome,
/// the message runs again. A message that reuses an id with another name or body is `rejected(idConflict)`. Ids that
/// Signalbox assigns are never deduplicated.
public struct DeduplicationPolicy: Sendable, Hashable {
    enum Choice: Sendable, Hashable { case automatic, never, within(DeduplicationLimits) }
    let choice: Choice

    /// A policy that deduplicates within the default ``DeduplicationLimits`` if the adapter has the feature
    /// `stableIDs`.
    public static let automatic = DeduplicationPolicy(choice: .automatic)
    /// A policy that never deduplicates.
    public static let never = DeduplicationPolicy(choice: .never)
    /// Returns a policy that deduplicates within these limits, whatever the adapter's features are. Use it only if the
    /// senders give each message a unique id.
    public static func within(_ limits: DeduplicationLimits) -> DeduplicationPolicy {
        DeduplicationPolicy(choice: .within(limits))
    }
}

/// The limits on the ids that a source remembers for deduplication. A duplicate whose id has been forgotten runs again.
public struct DeduplicationLimits: Sendable, Hashable {
    /// The maximum number of ids. The valid range is 1 to 10,000,000, and the default is 10,000. When the limit is
    /// exceeded, the oldest handled id is forgotten.
    public var count: Int { didSet { check() } }
    /// The time for which an id is remembered after its action was handled. It must be above zero, and the default is
    /// 10 min.
    public var time: Duration { didSet { check() } }
    /// The maximum size of stored replies, in bytes. It must be at least 0, and the default is 4 MiB. When the limit is
    /// exceeded, the oldest handled ids are forgotten together with their replies.
    public var bytes: Int { didSet { check() } }

    /// Creates deduplication limits.
    ///
    /// - Precondition: All values are in their ranges.
    public init(count: Int = 10_000, time: Duration = .seconds(600), bytes: Int = 4 * 1024 * 1024) {
        self.count = count
        self.time = time
        self.bytes = bytes
        check()
    }

    private func check() {
        precondition((1...10_000_000).contains(count), "1 to 10,000,000 ids are remembered")
        precondition(time > .zero && bytes >= 0, "the time must be positive and the bytes must not be negative")
    }
}
