/// An ordering group of a lane: the actions of one source or key. They run in sequence unless the lane has no order.
struct LaneStrand: Sendable {
    var waiting = RunQueue()
    /// Whether the group is in the list of groups to serve next.
    var isListed = false
    /// Whether a call of the group is in progress or awaits its next attempt, so that no other may start.
    var isHeld = false
    /// Whether the timer settled a call of the group that has not returned.
    var isStalled = false
    /// Whether the group's source has been removed.
    var isLeft = false
    /// The key of the group, or `nil` for the group of a source.
    var key: LaneKey?

    init(key: LaneKey?) {
        self.key = key
    }

    /// Resets the group for reuse by another source or key. Nothing of it may be waiting or running.
    mutating func forget() {
        key = nil
        isStalled = false
        isLeft = false
        waiting.giveBackMemory()
    }
}

/// A first-in, first-out queue of batch slices that also accepts slices at its front.
struct RunQueue: Sendable {
    /// Removed slices are `nil` until the array is compacted, which frees their batches at once.
    private var runs: [LaneRun?] = []
    private var first = 0

    var isEmpty: Bool { first == runs.count }

    mutating func append(_ run: LaneRun) {
        runs.append(run)
    }

    mutating func prepend(_ run: LaneRun) {
        guard first > 0 else { return runs.insert(run, at: 0) }
        first -= 1
        runs[first] = run
    }

    /// Removes the oldest slice, or up to `most` arrivals from its front.
    mutating func popFirst(most: Int = .max) -> LaneRun? {
        guard first < runs.count, let run = runs[first] else { return nil }
        guard run.range.count > most else {
            runs[first] = nil
            first += 1
            compact()
            return run
        }
        let cut = run.range.lowerBound + most
        runs[first]?.range = cut..<run.range.upperBound
        return run.part(run.range.lowerBound..<cut)
    }

    mutating func takeAll() -> [LaneRun] {
        defer { self = RunQueue() }
        return runs[first...].compactMap { $0 }
    }

    mutating func takeAll(where isMeant: (LaneRun) -> Bool) -> [LaneRun] {
        guard runs[first...].contains(where: { $0.map(isMeant) ?? false }) else { return [] }
        let all = takeAll()
        runs = all.filter { !isMeant($0) }
        return all.filter(isMeant)
    }

    /// Frees the memory of an empty queue beyond a few slices, because most keys are short-lived and need only one.
    mutating func giveBackMemory() {
        if isEmpty, runs.capacity > RunQueue.keptCapacity { self = RunQueue() }
    }

    private static let keptCapacity = 8

    private mutating func compact() {
        if isEmpty {
            runs.removeAll(keepingCapacity: true)
            first = 0
        } else if first >= 64, first * 2 > runs.count {
            runs.removeFirst(first)
            first = 0
        }
    }
}

/// A round-robin list of the ordering groups to serve next. Each group appears at most once.
struct TurnList: Sendable {
    private var strands: [Int] = []
    private var first = 0

    var isEmpty: Bool { first == strands.count }

    mutating func append(_ strand: Int) {
        strands.append(strand)
    }

    mutating func popFirst() -> Int? {
        guard first < strands.count else { return nil }
        defer { compact() }
        first += 1
        return strands[first - 1]
    }

    mutating func removeAll() {
        self = TurnList()
    }

    private mutating func compact() {
        if isEmpty {
            strands.removeAll(keepingCapacity: true)
            first = 0
        } else if first >= 64, first * 2 > strands.count {
            strands.removeFirst(first)
            first = 0
        }
    }
}
