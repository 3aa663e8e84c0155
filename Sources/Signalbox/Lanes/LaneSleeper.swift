import SignalboxCore

/// An action whose call failed and is made again at a tick.
struct LaneSleeper: Sendable {
    let run: LaneRun
    /// The strand that is held until then.
    let strand: Int?
    let due: UInt64

    /// What its actions end in when no further call can be made.
    func verdicts() -> [LaneVerdict] {
        run.range.compactMap { position in
            run.failures?.outcome(at: position).map {
                LaneVerdict(run: run.part(position..<position + 1), outcome: $0, isOfAttempt: true)
            }
        }
    }
}
