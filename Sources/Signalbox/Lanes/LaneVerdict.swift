import SignalboxCore

/// Arrivals that somebody other than the lane's task decided, to be settled once the lane's lock is released.
struct LaneVerdict: Sendable {
    let run: LaneRun
    let outcome: Outcome
    /// Whether it is what their last attempt ended in.
    var isOfAttempt = false
}
