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
