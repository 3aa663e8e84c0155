/// How often and when a plugin is called again after it failed in a way that it calls retryable.
///
/// The wait before a further attempt is random between zero and a limit that doubles each time ("full jitter"), counted
/// in ticks of the supervisor's timer. A source that redelivers holds an arrival for
/// ``SupervisorConfiguration/holdLimit`` only: an attempt that could begin only after it, or after the action's deadline, is
/// not made, and the action has failed. The plugin's error then decides what happens to it: `RetryExhaustion`.
/// A call that timed out is not retried, as it may still be running.
public struct RetryPolicy: Sendable, Hashable {
    /// The most calls for one action, the first included, 1 to 100; 3 by default.
    public var attempts: Int { didSet { check() } }
    /// The longest wait before the second call, above zero; 200 ms by default. ``longestDelay`` bounds it too.
    public var firstDelay: Duration { didSet { check() } }
    /// The longest wait before any call, above zero; 5 s by default.
    public var longestDelay: Duration { didSet { check() } }

    /// - Precondition: the values are in their ranges.
    public init(
        attempts: Int = 3,
        firstDelay: Duration = .milliseconds(200),
        longestDelay: Duration = .seconds(5)
    ) {
        self.attempts = attempts
        self.firstDelay = firstDelay
        self.longestDelay = longestDelay
        check()
    }

    private func check() {
        precondition((1...100).contains(attempts), "a retry policy allows 1 to 100 attempts")
        precondition(firstDelay > .zero && longestDelay > .zero, "a retry policy has delays above zero")
    }
}

extension RetryPolicy {
    /// The longest wait after so many attempts, in ticks.
    func longestTicks(afterAttempt attempt: Int, _ tick: Duration) -> UInt64 {
        var longest = firstDelay
        var doublings = attempt - 1
        while doublings > 0, longest < longestDelay {
            longest += longest
            doublings -= 1
        }
        return TickCount.ticks(in: min(longest, longestDelay), of: tick)
    }
}
