public import SignalboxCore
import Synchronization

/// Counts the outcomes of a supervisor's arrivals so far, and lists the work that is still unfinished.
///
/// Read ``Supervisor/report``, for example after the run, to find out whether everything was handled.
public struct SupervisorReport: Sendable, Hashable {
    /// The counts of outcomes for all sources together.
    public let total: OutcomeCounts
    /// The counts of outcomes for each source.
    public let sources: [SourceName: OutcomeCounts]
    /// How much of each source's window is in use.
    public let windows: [SourceName: WindowUse]
    /// The number of arrivals that have been taken but not settled.
    public let unsettled: Int
    /// The plugins that have calls still running after those calls were settled, as sorted entries of the form
    /// `source/action`.
    public let callsStillRunning: [String]
    /// The number of dead letters, including those that were dropped.
    public let deadLetters: Int
    /// The number of dead letters that were dropped because the store was full.
    public let deadLettersDropped: Int
    /// How many dead letters the supervisor's store keeps, at most a few seconds ago, or `nil` without a store.
    public let storedDeadLetters: DeadLetterUse?
    /// Why the last commit of the supervisor's store failed, or `nil` if it succeeded or there is no store. The supervisor
    /// acknowledges nothing that depends on the store until a commit succeeds.
    public let storeProblem: String?
    /// Whether the store's file can be written, or `nil` if that is unknown or there is no store.
    package let isStoreWritable: Bool?

    /// Whether a drain was clean. In a clean drain, everything is settled, no call is still running, and the only
    /// abandoned arrivals are those that plugins gave back and those that a journal keeps.
    public var isClean: Bool {
        total.abandoned == total.givenBack + total.kept && unsettled == 0 && callsStillRunning.isEmpty
    }
}

/// How many arrivals had each outcome since the supervisor was created.
public struct OutcomeCounts: Sendable, Hashable {
    /// The number of arrivals whose plugin completed its work.
    public var handled = 0
    /// The number of arrivals that were refused.
    public var rejected = 0
    /// The number of arrivals whose plugin threw an error or did not return in time.
    public var failed = 0
    /// The number of arrivals that were released without a decision and without being acknowledged.
    public var abandoned = 0
    /// The number of abandoned arrivals that were given back by a plugin, which are also included in ``abandoned``.
    public var givenBack = 0
    /// The number of abandoned arrivals that a journal keeps for the next run, which are also included in ``abandoned``.
    public var kept = 0
    /// The number of calls that returned only after they had been settled, so that their results were not sent. A late
    /// return is not an additional outcome.
    public var lateReturns = 0
    /// The number of arrivals that received the outcome of an earlier arrival without a call of the plugin. They are
    /// also counted under that outcome.
    public var duplicates = 0
    /// The number of items that could not be read, such as query items of links, in all settled arrivals.
    public var unreadableItems = 0

    /// The number of settled arrivals.
    public var settled: Int { handled + rejected + failed + abandoned }

    static func + (left: OutcomeCounts, right: OutcomeCounts) -> OutcomeCounts {
        OutcomeCounts(
            handled: left.handled + right.handled,
            rejected: left.rejected + right.rejected,
            failed: left.failed + right.failed,
            abandoned: left.abandoned + right.abandoned,
            givenBack: left.givenBack + right.givenBack,
            kept: left.kept + right.kept,
            lateReturns: left.lateReturns + right.lateReturns,
            duplicates: left.duplicates + right.duplicates,
            unreadableItems: left.unreadableItems + right.unreadableItems
        )
    }
}

/// Counts a source's outcomes. Safe to use from any thread.
final class OutcomeCounters: Sendable {
    let handled = Atomic<Int>(0)
    let rejected = Atomic<Int>(0)
    let failed = Atomic<Int>(0)
    let abandoned = Atomic<Int>(0)
    let givenBack = Atomic<Int>(0)
    let kept = Atomic<Int>(0)
    let lateReturns = Atomic<Int>(0)
    let duplicates = Atomic<Int>(0)
    let unreadableItems = Atomic<Int>(0)

    func count(_ outcome: Outcome) {
        switch outcome {
        case .handled: handled.wrappingAdd(1, ordering: .relaxed)
        case .rejected: rejected.wrappingAdd(1, ordering: .relaxed)
        case .failed: failed.wrappingAdd(1, ordering: .relaxed)
        case .abandoned(let abandonment):
            abandoned.wrappingAdd(1, ordering: .relaxed)
            if abandonment.isGivenBack { givenBack.wrappingAdd(1, ordering: .relaxed) }
            if abandonment.isKept { kept.wrappingAdd(1, ordering: .relaxed) }
        }
    }

    /// The number of settled arrivals.
    var settled: Int { counts.settled }

    var counts: OutcomeCounts {
        OutcomeCounts(
            handled: handled.load(ordering: .relaxed),
            rejected: rejected.load(ordering: .relaxed),
            failed: failed.load(ordering: .relaxed),
            abandoned: abandoned.load(ordering: .relaxed),
            givenBack: givenBack.load(ordering: .relaxed),
            kept: kept.load(ordering: .relaxed),
            lateReturns: lateReturns.load(ordering: .relaxed),
            duplicates: duplicates.load(ordering: .relaxed),
            unreadableItems: unreadableItems.load(ordering: .relaxed)
        )
    }
}

extension Outcome {
    /// Whether the outcome is final, so that the arrival may be acknowledged.
    var isDecided: Bool {
        if case .abandoned = self { false } else { true }
    }
}
