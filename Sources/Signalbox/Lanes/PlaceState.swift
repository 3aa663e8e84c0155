/// What a place of a lane works on: the part of it that is behind the lane's lock.
struct PlaceState: Sendable {
    let place: LanePlace
    /// One call takes the whole of a run.
    let callsWholeRuns: Bool
    /// The run the task works through, and the number of the call that its first arrival has.
    private(set) var current: LaneRun?
    private var firstCall: UInt64 = 0
    /// The strand that is held for the run.
    var strand: Int?
    /// The call in progress has been settled by the timer and has not returned.
    var isStalled = false
    /// The call last seen running and the tick of that look.
    var lastSeenCall: UInt64 = 0
    var lastSeenTick: UInt64 = 0
    /// The task, waiting for work.
    var parked: UnsafeContinuation<LaneWork?, Never>?

    init(_ place: LanePlace, callsWholeRuns: Bool) {
        self.place = place
        self.callsWholeRuns = callsWholeRuns
    }

    mutating func begin(_ run: LaneRun, of strand: Int?) {
        current = run
        firstCall = place.nextCall
        self.strand = strand
    }

    mutating func end() {
        current = nil
        strand = nil
    }

    /// The arrival that a call number of the current run stands for; the last one when a call takes the whole run.
    private func position(ofCall number: UInt64) -> Int? {
        guard let current, number >= firstCall else { return nil }
        if callsWholeRuns { return number == firstCall ? current.range.upperBound - 1 : nil }
        let position = current.range.lowerBound + Int(number - firstCall)
        return current.range.contains(position) ? position : nil
    }

    /// What the call number stands for: one arrival, or the whole run.
    func called(_ number: UInt64) -> LaneRun? {
        guard let current, let position = position(ofCall: number) else { return nil }
        return callsWholeRuns ? current : current.part(position..<position + 1)
    }

    /// What is left of the current run behind a call.
    func rest(behindCall number: UInt64) -> Range<Int>? {
        guard let current, let position = position(ofCall: number) else { return nil }
        return (position + 1)..<current.range.upperBound
    }

    /// Takes away the rest of the current run behind the call in progress, which the caller has marked as expired or
    /// interrupted, or makes itself: from then on the task asks for the range again.
    mutating func takeRest(behindCall number: UInt64) -> LaneRun? {
        guard let run = current, let position = position(ofCall: number) else { return nil }
        current = run.part(run.range.lowerBound..<(position + 1))
        let rest = (position + 1)..<run.range.upperBound
        return rest.isEmpty ? nil : run.part(rest)
    }
}
