/// Something that holds in every run, whatever the plugins and sources do.
struct Invariant: Sendable {
    let name: String
    /// Where it does not hold, and what was expected.
    let check: @Sendable (Ledger) -> [Ledger.Fault]

    static let all: [Invariant] = [
        settledOnce, nothingUntakenIsTold, allIsSettledWhenTheRunEnds, acknowledgedAsDecided, observedBeforeSettled,
        countsMatch, reportTellsTheTruth, supervisorIsFreed,
        onlyAllowedArrivalsAreCalled, notCalledAfterItsEnd, attemptsAreKept, outcomeHasItsCause, reentrantIsRefused,
        neverMoreCallsThanAllowed, oneCallPerSourceOrKey, orderIsKept, successorsWait, nothingWaitsWithoutReason,
        sourcesTakeTurns,
        windowIsNeverExceeded, roomIsRoom, closedTakesNothing,
        repeatsAreNotCalled, attemptsAreTold, rateLimitIsKept, openBreakerLeavesAlone,
        timeoutIsKept, holdLimitIsKept, drainLimitIsKept,
    ]
}

/// An invariant that does not hold.
struct Violation: Sendable, CustomStringConvertible {
    let invariant: String
    /// Where in the log.
    let at: Int
    let text: String

    var description: String { "\(invariant): \(text)" }
}
