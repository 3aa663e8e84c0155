/// Something that holds in every run, whatever the plugins and sources do.
struct Invariant: Sendable {
    let name: String
    /// What holds.
    let promise: String
    /// Where it does not hold, and what was expected.
    let check: @Sendable (Ledger) -> [Ledger.Fault]

    init(_ name: String, _ promise: String, _ check: @escaping @Sendable (Ledger) -> [Ledger.Fault]) {
        self.name = name
        self.promise = promise
        self.check = check
    }

    static let all: [Invariant] = [
        settledOnce, nothingUntakenIsTold, allIsSettledWhenTheRunEnds, acknowledgedAsDecided, observedBeforeSettled,
        countsMatch, reportTellsTheTruth, deadLettersAreBounded, supervisorIsFreed,
        onlyAllowedArrivalsAreCalled, notCalledAfterItsEnd, attemptsAreKept, outcomeHasItsCause, reentrantIsRefused,
        neverMoreCallsThanAllowed, oneCallPerSourceOrKey, orderIsKept, nothingWaitsWithoutReason, sourcesTakeTurns,
        stalledLaneIsUnavailable, successorsWait, successorsBegin,
        windowIsNeverExceeded, roomIsRoom, roomIsTold, closedTakesNothing, removalIsKept, namesAreFree,
        repeatsAreNotCalled, repeatsHaveTheirOriginal, attemptsAreTold, rateLimitIsKept, overloadedIsTrue,
        breakerIsKept,
        timeoutIsKept, holdLimitIsKept, drainLimitIsKept,
    ]
}
