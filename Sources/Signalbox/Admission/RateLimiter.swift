import Synchronization

/// The rate limit of one source. Any thread.
final class SourceRate: Sendable {
    /// Whether the source waits when it sends too much, as one that redelivers can. Else what is over is refused.
    let slows: Bool
    let limit: RateLimit
    /// What is over, in words.
    let detail: String
    private let bucket: Mutex<TokenBucket>

    init(_ limit: RateLimit, slows: Bool, tick: Duration, at now: UInt64) {
        self.slows = slows
        self.limit = limit
        detail = "the source sends more than \(limit.perSecond) a second and \(limit.burst) at once"
        bucket = Mutex(TokenBucket(limit, tick: tick, at: now))
    }

    /// How many arrivals may come at this tick.
    func available(at now: UInt64) -> Int { bucket.withLock { $0.available(at: now) } }

    /// Takes so many, or as many as there are.
    @discardableResult
    func take(_ count: Int, at now: UInt64) -> Int { bucket.withLock { $0.take(count, at: now) } }

    /// Whether a source that is slowed may go on.
    func hasRoom(at now: UInt64) -> Bool { bucket.withLock { $0.hasQuarter(at: now) } }
}

/// How many arrivals a rate limit has left, filled by ticks: pure, and exact to the last fraction.
///
/// One arrival costs as many units as a second has nanoseconds, so that a tick adds a whole number of them.
struct TokenBucket: Sendable {
    private static let unitsOfOne: UInt64 = 1_000_000_000
    private let capacity: UInt64
    private let unitsPerTick: UInt64
    /// What must be there before it is worth while to ask for more: a quarter of the most, or what a second brings if that is
    /// less; at least one.
    private let quarter: Int
    private var units: UInt64
    /// The tick up to which it is filled.
    private var tick: UInt64

    /// A full bucket.
    init(_ limit: RateLimit, tick length: Duration, at now: UInt64) {
        let full = UInt64(limit.burst) * TokenBucket.unitsOfOne
        // A part of one that has begun is kept when it is full: else a small burst would never reach the rate.
        capacity = full + TokenBucket.unitsOfOne - 1
        let (seconds, attoseconds) = length.components
        let (whole, isOver) = UInt64(max(0, seconds)).multipliedReportingOverflow(by: TokenBucket.unitsOfOne)
        let nanoseconds = isOver ? UInt64.max : whole.addingSaturated(UInt64(max(0, attoseconds)) / 1_000_000_000)
        unitsPerTick = UInt64(limit.perSecond).multipliedSaturated(max(1, nanoseconds))
        quarter = max(1, min(limit.burst / 4, limit.perSecond))
        units = full
        tick = now
    }

    /// How many arrivals may come at this tick.
    mutating func available(at now: UInt64) -> Int {
        if now > tick {
            let more = unitsPerTick.multipliedSaturated(now - tick)
            units = min(capacity, units.addingSaturated(more))
            tick = now
        }
        return Int(units / TokenBucket.unitsOfOne)
    }

    /// Takes so many, or as many as there are.
    ///
    /// - Returns: how many.
    mutating func take(_ count: Int, at now: UInt64) -> Int {
        let taken = min(count, available(at: now))
        units -= UInt64(taken) * TokenBucket.unitsOfOne
        return taken
    }

    /// Whether so much is there that it is worth while to ask for more.
    mutating func hasQuarter(at now: UInt64) -> Bool { available(at: now) >= quarter }
}

extension UInt64 {
    fileprivate func multipliedSaturated(_ other: UInt64) -> UInt64 {
        let (product, isOver) = multipliedReportingOverflow(by: other)
        return isOver ? .max : product
    }

    fileprivate func addingSaturated(_ other: UInt64) -> UInt64 {
        let (sum, isOver) = addingReportingOverflow(other)
        return isOver ? .max : sum
    }
}
