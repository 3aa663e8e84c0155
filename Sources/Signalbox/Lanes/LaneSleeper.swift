import SignalboxCore

/// An action whose call failed and is made again at a tick.
struct LaneSleeper: Sendable {
    let run: LaneRun
    /// The strand that is held until then.
    let strand: Int?
    let due: UInt64
    /// What its actions end in when no further call can be made.
    let failures: [Outcome]

    func verdicts() -> [LaneVerdict] {
        zip(run.range, failures).map { LaneVerdict(run: run.part($0..<$0 + 1), outcome: $1, isOfAttempt: true) }
    }
}
