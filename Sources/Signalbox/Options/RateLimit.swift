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
