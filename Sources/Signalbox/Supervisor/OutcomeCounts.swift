/// How many arrivals ended in each outcome since the supervisor was made.
public struct OutcomeCounts: Sendable, Hashable {
    /// The plugin did its work.
    public var handled = 0
    /// The plugin was not called.
    public var rejected = 0
    /// The plugin threw or did not return in time.
    public var failed = 0
    /// Let go of undecided, not acknowledged.
    public var abandoned = 0
    /// Calls that returned after they had been settled; their results were not sent. Not an outcome of its own.
    public var lateReturns = 0

    /// All arrivals settled.
    public var settled: Int { handled + rejected + failed + abandoned }

    static func + (left: OutcomeCounts, right: OutcomeCounts) -> OutcomeCounts {
        OutcomeCounts(
            handled: left.handled + right.handled,
            rejected: left.rejected + right.rejected,
            failed: left.failed + right.failed,
            abandoned: left.abandoned + right.abandoned,
            lateReturns: left.lateReturns + right.lateReturns
        )
    }
}
