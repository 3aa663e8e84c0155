import SignalboxCore
import Synchronization

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
