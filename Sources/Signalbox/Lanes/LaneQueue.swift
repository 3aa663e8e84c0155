import SignalboxCore

/// What waits in a lane and what it works on: the state behind the lane's lock, without threads or waiting.
struct LaneQueue: Sendable {
    /// Taken ones are `nil` until the array is compacted, so that their batches are free at once.
    private var waiting: [LaneRun?] = []
    private var first = 0
    /// The run the lane's task works through, and the number of the call that its first arrival has.
    private(set) var current: LaneRun?
    private(set) var firstCall: UInt64 = 0

    /// One call takes the whole of a run.
    let callsWholeRuns: Bool
    /// The call in progress has been settled by the timer and has not returned.
    var isStalled = false
    /// No more runs come; the lane's task ends when the queue is empty.
    var isClosed = false
    /// The lane's task, waiting for work.
    var parked: UnsafeContinuation<LaneRun?, Never>?
    /// The call last seen running and the tick of that look.
    var lastSeenCall: UInt64 = 0
    var lastSeenTick: UInt64 = 0
    /// Arrivals rejected because the lane is stalled, since the last log line about it.
    var unreported = 0
    /// When that line was written; `nil` when the stall has none yet.
    var reportedTick: UInt64?

    init(callsWholeRuns: Bool) {
        self.callsWholeRuns = callsWholeRuns
    }

    var isEmpty: Bool { first == waiting.count }

    mutating func takeUnreported(at now: UInt64) -> Int {
        guard unreported > 0 else { return 0 }
        reportedTick = now
        defer { unreported = 0 }
        return unreported
    }

    mutating func append(_ run: LaneRun) {
        waiting.append(run)
    }

    /// Makes the oldest waiting run the current one.
    mutating func startNext(call number: UInt64) -> LaneRun? {
        current = nil
        guard first < waiting.count else { return nil }
        let run = waiting[first]
        waiting[first] = nil
        first += 1
        if first == waiting.count {
            waiting.removeAll(keepingCapacity: true)
            first = 0
        } else if first >= 64, first * 2 > waiting.count {
            waiting.removeFirst(first)
            first = 0
        }
        current = run
        firstCall = number
        return run
    }

    /// Makes a run current that never waited.
    mutating func start(_ run: LaneRun, call number: UInt64) {
        current = run
        firstCall = number
    }

    /// The arrival that a call number of the current run stands for; the last one when a call takes the whole run.
    func position(ofCall number: UInt64) -> Int? {
        guard let current, number >= firstCall else { return nil }
        if callsWholeRuns { return number == firstCall ? current.range.upperBound - 1 : nil }
        let position = current.range.lowerBound + Int(number - firstCall)
        return current.range.contains(position) ? position : nil
    }

    /// What the call number stands for: one arrival, or the whole run.
    func calledOfCurrent(_ number: UInt64) -> LaneRun? {
        guard var run = current, let position = position(ofCall: number) else { return nil }
        run.range = callsWholeRuns ? run.range : position..<(position + 1)
        return run
    }

    /// What is left of the current run behind a call.
    func restOfCurrent(behindCall number: UInt64) -> Range<Int>? {
        guard let current, let position = position(ofCall: number) else { return nil }
        return (position + 1)..<current.range.upperBound
    }

    /// Takes away the rest of the current run behind the call in progress, which the caller has marked as expired or
    /// interrupted: from then on the lane's task asks for the range again.
    mutating func takeRestOfCurrent(behindCall number: UInt64) -> LaneRun? {
        guard var run = current, let position = position(ofCall: number) else { return nil }
        let rest = (position + 1)..<run.range.upperBound
        let taken = LaneRun(arrivals: run.arrivals, range: rest, sink: run.sink, tick: run.tick)
        run.range = run.range.lowerBound..<(position + 1)
        current = run
        return rest.isEmpty ? nil : taken
    }

    /// Takes away the oldest waiting runs as long as they fit.
    mutating func takeWaiting(where fits: (LaneRun) -> Bool) -> [LaneRun] {
        var taken: [LaneRun] = []
        while first < waiting.count, let run = waiting[first], fits(run) {
            taken.append(run)
            waiting[first] = nil
            first += 1
        }
        if isEmpty {
            waiting.removeAll(keepingCapacity: true)
            first = 0
        }
        return taken
    }
}
