/// The bounds of one source.
struct SourceOptions: Sendable {
    let window: WindowLimits
    let rateLimit: RateLimit?
    let repeats: RepeatPolicy
}

/// How much of one source may be inside the supervisor at once: taken and not yet settled.
///
/// When the window is full `Intake.submit(_:to:)` takes less than it is offered and the adapter stops reading: nothing
/// is dropped.
public struct WindowLimits: Sendable, Hashable {
    /// The most arrivals, 1 to 1,000,000; 1,000 by default.
    public var arrivals: Int { didSet { check() } }
    /// The most bytes of their originals, 1 to 2^40 - 1; 16 MiB by default. While a quarter of it is free, one arrival may
    /// reach over it.
    public var bytes: Int { didSet { check() } }

    /// - Precondition: both are in their ranges.
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

/// How many arrivals of one source are let in.
///
/// A source that redelivers is slowed: `Intake.submit(_:to:)` takes less, and `room()` waits until a quarter of the burst, or
/// what a second brings if that is less, may come; so nothing is refused. Of any
/// other source what is over is `rejected(overloaded)`, so that a call of it ends at once.
public struct RateLimit: Sendable, Hashable {
    /// The arrivals a second in the long run, 1 to 10,000,000.
    public var perSecond: Int { didSet { check() } }
    /// The most at once after a pause, 1 to 10,000,000; by default as many as in a second. Time is counted in ticks, 100 ms by
    /// default: a burst smaller than what a tick brings limits the rate to itself per tick.
    public var burst: Int { didSet { check() } }

    /// - Precondition: the values are in their ranges.
    public init(perSecond: Int, burst: Int? = nil) {
        self.perSecond = perSecond
        self.burst = burst ?? perSecond
        check()
    }

    private func check() {
        precondition((1...10_000_000).contains(perSecond), "a rate limit lets in 1 to 10,000,000 arrivals a second")
        precondition((1...10_000_000).contains(burst), "a rate limit lets in 1 to 10,000,000 arrivals at once")
    }
}

/// Whether messages of a source that come again are recognised, by the id that their sender gave; a CloudEvent by its
/// `source` and its id.
///
/// While the first is running its repeat gets the same outcome at the same moment; after it was handled, the same outcome
/// again without a call; after anything else it runs again. The same id with another name or body is
/// `rejected(idConflict)`. Ids that Signalbox assigned are never repeated.
public struct RepeatPolicy: Sendable, Hashable {
    enum Choice: Sendable, Hashable { case automatic, never, within(RepeatLimits) }
    let choice: Choice

    /// Recognised where the adapter has the feature `stableIDs`, within the default ``RepeatLimits``.
    public static let automatic = RepeatPolicy(choice: .automatic)
    /// Not recognised.
    public static let never = RepeatPolicy(choice: .never)
    /// Recognised whatever the adapter says: whoever sends must give each message an id of its own.
    public static func within(_ limits: RepeatLimits) -> RepeatPolicy { RepeatPolicy(choice: .within(limits)) }
}

/// How long and how many ids of a source are remembered, so that a message that comes again is known.
public struct RepeatLimits: Sendable, Hashable {
    /// The most ids, 1 to 10,000,000; 10,000 by default. Beyond it the oldest that is not running is forgotten.
    public var count: Int { didSet { check() } }
    /// How long an id is remembered after its action was handled, above zero; 10 min by default.
    public var time: Duration { didSet { check() } }
    /// The most bytes of replies kept, at least 0; 4 MiB by default. Beyond it the oldest ids with replies are forgotten.
    public var bytes: Int { didSet { check() } }

    /// - Precondition: the values are in their ranges.
    public init(count: Int = 10_000, time: Duration = .seconds(600), bytes: Int = 4 * 1024 * 1024) {
        self.count = count
        self.time = time
        self.bytes = bytes
        check()
    }

    private func check() {
        precondition((1...10_000_000).contains(count), "1 to 10,000,000 ids are remembered")
        precondition(time > .zero && bytes >= 0, "ids are remembered for more than no time, replies in 0 bytes or more")
    }
}
