import SignalboxCore
import Synchronization

/// The rate limit of one source. Safe to use from any thread.
final class SourceRate: Sendable {
    let limit: RateLimit
    /// The rejection that arrivals over the limit receive.
    let rejection: Outcome.Rejection
    private let bucket: Mutex<TokenBucket>

    init(_ limit: RateLimit, tick: Duration, at now: UInt64) {
        self.limit = limit
        let limitText = "\(limit.perSecond) per second with bursts of \(limit.burst)"
        rejection = Outcome.Rejection(.overloaded, detail: "the source exceeds its rate limit of \(limitText)")
        bucket = Mutex(TokenBucket(limit, tick: tick, at: now))
    }

    /// Returns how many arrivals are permitted at this tick.
    func available(at now: UInt64) -> Int { bucket.withLock { $0.available(at: now) } }

    /// Takes up to `count` tokens.
    @discardableResult
    func take(_ count: Int, at now: UInt64) -> Int { bucket.withLock { $0.take(count, at: now) } }

    /// Returns whether a source that was slowed down may continue now.
    func hasRoom(at now: UInt64) -> Bool { bucket.withLock { $0.hasQuarter(at: now) } }
}

/// A token bucket that is refilled once per tick, so it does not read a clock.
///
/// A token costs as many units as a second has nanoseconds, so every tick adds a whole number of units and no fraction
/// is lost.
struct TokenBucket: Sendable {
    private static let unitsOfOne: UInt64 = 1_000_000_000
    private let capacity: UInt64
    private let unitsPerTick: UInt64
    /// How many tokens must be available before `room()` returns: a quarter of the burst or one second's worth,
    /// whichever is less, and at least one.
    private let quarter: Int
    private var units: UInt64
    /// The tick up to which the bucket has been filled.
    private var tick: UInt64

    /// Creates a full bucket.
    init(_ limit: RateLimit, tick length: Duration, at now: UInt64) {
        let full = UInt64(limit.burst) * TokenBucket.unitsOfOne
        // The bucket can hold a fraction of a token more than the burst. Otherwise, a small burst would never reach the
        // rate.
        capacity = full + TokenBucket.unitsOfOne - 1
        let (seconds, attoseconds) = length.components
        let (whole, isOver) = UInt64(max(0, seconds)).multipliedReportingOverflow(by: TokenBucket.unitsOfOne)
        let nanoseconds = isOver ? UInt64.max : whole.addingSaturated(UInt64(max(0, attoseconds)) / 1_000_000_000)
        unitsPerTick = UInt64(limit.perSecond).multipliedSaturated(max(1, nanoseconds))
        quarter = max(1, min(limit.burst / 4, limit.perSecond))
        units = full
        tick = now
    }

    /// Returns how many tokens are available at this tick.
    mutating func available(at now: UInt64) -> Int {
        if now > tick {
            let more = unitsPerTick.multipliedSaturated(now - tick)
            units = min(capacity, units.addingSaturated(more))
            tick = now
        }
        return Int(units / TokenBucket.unitsOfOne)
    }

    /// Takes up to `count` tokens.
    ///
    /// - Returns: The number of tokens taken.
    mutating func take(_ count: Int, at now: UInt64) -> Int {
        let taken = min(count, available(at: now))
        units -= UInt64(taken) * TokenBucket.unitsOfOne
        return taken
    }

    /// Returns whether enough tokens are available for a slowed source to continue.
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
