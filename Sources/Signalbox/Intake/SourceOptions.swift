/// The options of one source.
struct SourceOptions: Sendable {
    let window: WindowLimits
    let rateLimit: RateLimit?
    let deduplication: DeduplicationPolicy
    var hold: HoldLimits?
    /// The journal's limits, or `nil` if the source has no journal.
    var journal: JournalLimits?
    /// How many unsettled arrivals the adapter submits at most, or `nil` if only the window limits them.
    var maximumUnsettled: Int?
}

/// Limits how much work from one source can be inside the supervisor, from submission to settlement.
///
/// When the window is full, `Intake.submit(_:to:)` takes fewer arrivals than the adapter offers, and the adapter stops
/// reading from its transport. Nothing is dropped. Use a smaller window to limit how much memory one source can occupy.
public struct WindowLimits: Sendable, Hashable {
    /// The maximum number of arrivals. Must be between 1 and 1,000,000; the default is 1,000.
    public var arrivals: Int { didSet { check() } }
    /// The maximum total size of the arrivals' original messages, in bytes. Must be between 1 and 2^40 - 1; the default
    /// is 16 MiB. As long as a quarter of the limit is free, a single arrival may exceed the limit.
    public var bytes: Int { didSet { check() } }

    /// Creates window limits.
    ///
    /// - Precondition: Both values are within their ranges.
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

/// Limits how many arrivals per second are accepted from one source.
///
/// The effect depends on the source:
///
/// - A source that redelivers messages is slowed down, and nothing is refused. `Intake.submit(_:to:)` takes fewer
///   arrivals, and `room()` waits until a quarter of the burst is available again, or one second's worth of arrivals if
///   that is less.
/// - For any other source, arrivals over the limit are `rejected(overloaded)`, so that their callers do not have to
///   wait.
public struct RateLimit: Sendable, Hashable {
    /// The long-term rate, in arrivals per second. Must be between 1 and 10,000,000.
    public var perSecond: Int { didSet { check() } }
    /// The maximum number of arrivals that are accepted at once after a pause. Must be between 1 and 10,000,000; the
    /// default is one second's worth.
    ///
    /// Time is counted in ticks of the supervisor, 100 ms by default. If the burst is smaller than one tick's worth,
    /// the rate is therefore limited to one burst per tick.
    public var burst: Int { didSet { check() } }

    /// Creates a rate limit.
    ///
    /// - Precondition: Both values are within their ranges.
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

/// Determines whether a source's messages are deduplicated. A message is identified by the id that its sender gave it
/// or, for CloudEvents, by `source` and id.
///
/// What happens to a duplicate depends on the earlier message:
///
/// - While the earlier message is running, a duplicate waits for it and receives the same outcome.
/// - After it was handled, a duplicate receives the outcome `handled` with the same reply, and the plugin is not called
///   again.
/// - After any other outcome, the message runs again.
///
/// In the first two cases, a message that reuses the id with a different name or body is `rejected(idConflict)`.
///
/// Messages whose ids were assigned by Signalbox are never deduplicated.
public struct DeduplicationPolicy: Sendable, Hashable {
    enum Choice: Sendable, Hashable { case automatic, never, within(DeduplicationLimits) }
    let choice: Choice

    /// Deduplicates within the default ``DeduplicationLimits`` if the adapter has the feature `stableIDs`.
    public static let automatic = DeduplicationPolicy(choice: .automatic)
    /// Never deduplicates.
    public static let never = DeduplicationPolicy(choice: .never)
    /// Deduplicates within the given limits, whether or not the adapter has the feature `stableIDs`. Use this policy
    /// only if the senders give every message a unique id.
    public static func within(_ limits: DeduplicationLimits) -> DeduplicationPolicy {
        DeduplicationPolicy(choice: .within(limits))
    }
}

/// Limits how many ids a source remembers for deduplication, and for how long. If an id has been forgotten, a duplicate
/// with that id runs again.
public struct DeduplicationLimits: Sendable, Hashable {
    /// The maximum number of ids. Must be between 1 and 10,000,000; the default is 10,000. When there are more, the
    /// oldest handled id is forgotten.
    public var count: Int { didSet { check() } }
    /// How long an id is remembered after its action was handled. Must be greater than zero; the default is 10 min.
    public var time: Duration { didSet { check() } }
    /// The maximum total size of stored replies, in bytes. Must be at least 0; the default is 4 MiB. When the limit is
    /// exceeded, the oldest handled ids are forgotten together with their replies.
    public var bytes: Int { didSet { check() } }

    /// Creates deduplication limits.
    ///
    /// - Precondition: All values are within their ranges.
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
