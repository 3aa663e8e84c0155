/// The options of one source.
struct SourceOptions: Sendable {
    let window: WindowLimits
    let rateLimit: RateLimit?
    let deduplication: DeduplicationPolicy
}

/// The maximum amount of work from one source inside the supervisor, from submission to settlement.
///
/// When the window is full, `Intake.submit(_:to:)` takes fewer arrivals than offered and the adapter stops reading.
/// Nothing is dropped.
public struct WindowLimits: Sendable, Hashable {
    /// The maximum number of arrivals, 1 to 1,000,000; 1,000 by default.
    public var arrivals: Int { didSet { check() } }
    /// The maximum size of their originals, in bytes, 1 to 2^40 - 1; 16 MiB by default. While a quarter of it is free,
    /// one arrival may exceed it.
    public var bytes: Int { didSet { check() } }

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
/// A source that redelivers is slowed down, and nothing is refused: `Intake.submit(_:to:)` takes fewer arrivals, and
/// `room()` waits until a quarter of the burst, or one second's worth if that is less, is available. For any other
/// source, excess arrivals are `rejected(overloaded)`, so that their callers do not wait.
public struct RateLimit: Sendable, Hashable {
    /// The long-term rate in arrivals per second, 1 to 10,000,000.
    public var perSecond: Int { didSet { check() } }
    /// The maximum number of arrivals at once after a pause, 1 to 10,000,000; one second's worth by default. Time is
    /// counted in ticks, 100 ms by default: a burst below one tick's worth limits the rate to one burst per tick.
    public var burst: Int { didSet { check() } }

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

/// Whether a source's messages are deduplicated by their sender's id, or for CloudEvents by `source` and id.
///
/// A duplicate of a running message receives its outcome at the same time. A duplicate of a handled message receives
/// the same outcome without a call. After any other outcome the message runs again. The same id with another name or
/// body is `rejected(idConflict)`. Ids assigned by Signalbox are never deduplicated.
public struct DeduplicationPolicy: Sendable, Hashable {
    enum Choice: Sendable, Hashable { case automatic, never, within(DeduplicationLimits) }
    let choice: Choice

    /// Deduplication within the default ``DeduplicationLimits`` if the adapter has the feature `stableIDs`.
    public static let automatic = DeduplicationPolicy(choice: .automatic)
    /// No deduplication.
    public static let never = DeduplicationPolicy(choice: .never)
    /// Returns a policy that ignores the adapter's features. Senders must give each message a unique id.
    public static func within(_ limits: DeduplicationLimits) -> DeduplicationPolicy {
        DeduplicationPolicy(choice: .within(limits))
    }
}

/// The limits on the ids that a source remembers for deduplication.
public struct DeduplicationLimits: Sendable, Hashable {
    /// The maximum number of ids, 1 to 10,000,000; 10,000 by default. Beyond it the oldest handled id is forgotten.
    public var count: Int { didSet { check() } }
    /// The time an id is remembered after its action was handled, above zero; 10 min by default.
    public var time: Duration { didSet { check() } }
    /// The maximum size of stored replies, in bytes, at least 0; 4 MiB by default. The oldest are forgotten first.
    public var bytes: Int { didSet { check() } }

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
