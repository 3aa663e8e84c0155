/// How many arrivals ended in each outcome since the supervisor was made.
public struct OutcomeCounts: Sendable, Hashable {
    /// The plugin did its work.
    public var handled: Int
    /// The plugin was not called.
    public var rejected: Int
    /// The plugin threw or did not return in time.
    public var failed: Int
    /// Let go of undecided, not acknowledged.
    public var abandoned: Int
    /// How many of the abandoned arrivals a plugin gave back. Not an outcome of its own.
    public var givenBack: Int
    /// Calls that returned after they had been settled; their results were not sent. Not an outcome of its own.
    public var lateReturns: Int
    /// How many of the arrivals repeated an earlier one and had its outcome without a call. Not an outcome of its own.
    public var repeats: Int

    /// Counts, each at least 0.
    public init(
        handled: Int = 0,
        rejected: Int = 0,
        failed: Int = 0,
        abandoned: Int = 0,
        givenBack: Int = 0,
        lateReturns: Int = 0,
        repeats: Int = 0
    ) {
        self.handled = handled
        self.rejected = rejected
        self.failed = failed
        self.abandoned = abandoned
        self.givenBack = givenBack
        self.lateReturns = lateReturns
        self.repeats = repeats
    }

    /// All arrivals settled.
    public var settled: Int { handled + rejected + failed + abandoned }

    static func + (left: OutcomeCounts, right: OutcomeCounts) -> OutcomeCounts {
        OutcomeCounts(
            handled: left.handled + right.handled,
            rejected: left.rejected + right.rejected,
            failed: left.failed + right.failed,
            abandoned: left.abandoned + right.abandoned,
            givenBack: left.givenBack + right.givenBack,
            lateReturns: left.lateReturns + right.lateReturns,
            repeats: left.repeats + right.repeats
        )
    }
}
