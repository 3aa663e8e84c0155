/// How often and when a plugin is called again after it failed in a way that it calls retryable.
///
/// The wait before a further attempt is random between zero and a limit that doubles each time ("full jitter"), counted
/// in ticks of the supervisor's timer. A source that redelivers holds an arrival for
/// ``SupervisorConfiguration/holdLimit`` only: an attempt that could begin after it is not made, and the action has failed.
/// A call that timed out is not retried, as it may still be running.
public struct RetryPolicy: Sendable, Hashable {
    /// The most calls for one action, the first included, 1 to 100; 3 by default.
    public var attempts: Int
    /// The longest wait before the second call, above zero; 200 ms by default.
    public var firstDelay: Duration
    /// The longest wait before any call, at least ``firstDelay``; 5 s by default.
    public var longestDelay: Duration

    /// - Precondition: the values are in their ranges.
    public init(
        attempts: Int = 3,
        firstDelay: Duration = .milliseconds(200),
        longestDelay: Duration = .seconds(5)
    ) {
        precondition((1...100).contains(attempts), "a retry policy allows 1 to 100 attempts")
        precondition(firstDelay > .zero && longestDelay >= firstDelay, "delays are above zero, the longest the largest")
        self.attempts = attempts
        self.firstDelay = firstDelay
        self.longestDelay = longestDelay
    }
}

extension RetryPolicy {
    /// The longest wait after so many attempts, in ticks.
    func longestTicks(afterAttempt attempt: Int, _ tick: Duration) -> UInt64 {
        var longest = firstDelay
        for _ in 1..<max(1, attempt) where longest < longestDelay { longest += longest }
        return TickCount.ticks(in: min(longest, longestDelay), of: tick)
    }
}
