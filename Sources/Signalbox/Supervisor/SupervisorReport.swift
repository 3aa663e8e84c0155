public import SignalboxCore
import Synchronization

/// What a supervisor has done so far, and whether anything is still open.
public struct SupervisorReport: Sendable, Hashable {
    /// The outcomes of all sources together.
    public let total: OutcomeCounts
    /// The outcomes by source.
    public let sources: [SourceName: OutcomeCounts]
    /// How much of each source is inside.
    public let windows: [SourceName: WindowUse]
    /// How many arrivals are inside and not settled.
    public let unsettled: Int
    /// The plugins with a call that was settled without waiting for it and has not returned, as `source/action`, sorted.
    public let callsStillRunning: [String]
    /// How many dead letters there were, and how many of them the store had to drop.
    public let deadLetters: Int
    /// How many of the dead letters were dropped because the store was full.
    public let deadLettersDropped: Int

    /// Whether nothing was abandoned except what plugins gave back, and no call is left running: what a drain should end in.
    public var isClean: Bool { total.abandoned == total.givenBack && unsettled == 0 && callsStillRunning.isEmpty }
}

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

/// How many arrivals of a source ended in each outcome. Any thread.
final class OutcomeCounters: Sendable {
    let handled = Atomic<Int>(0)
    let rejected = Atomic<Int>(0)
    let failed = Atomic<Int>(0)
    let abandoned = Atomic<Int>(0)
    let givenBack = Atomic<Int>(0)
    let lateReturns = Atomic<Int>(0)
    let repeats = Atomic<Int>(0)

    func count(_ outcome: Outcome) {
        switch outcome {
        case .handled: handled.wrappingAdd(1, ordering: .relaxed)
        case .rejected: rejected.wrappingAdd(1, ordering: .relaxed)
        case .failed: failed.wrappingAdd(1, ordering: .relaxed)
        case .abandoned(let abandonment):
            abandoned.wrappingAdd(1, ordering: .relaxed)
            if abandonment.isGivenBack { givenBack.wrappingAdd(1, ordering: .relaxed) }
        }
    }

    var counts: OutcomeCounts {
        OutcomeCounts(
            handled: handled.load(ordering: .relaxed),
            rejected: rejected.load(ordering: .relaxed),
            failed: failed.load(ordering: .relaxed),
            abandoned: abandoned.load(ordering: .relaxed),
            givenBack: givenBack.load(ordering: .relaxed),
            lateReturns: lateReturns.load(ordering: .relaxed),
            repeats: repeats.load(ordering: .relaxed)
        )
    }
}

extension Outcome {
    /// Whether the arrival is done with and may be acknowledged.
    var isDecided: Bool {
        if case .abandoned = self { false } else { true }
    }
}
