/// The actions of a lane that wait for each other: those of one source, or those with one key.
struct LaneStrand: Sendable {
    var waiting = RunQueue()
    /// It stands in the list of those whose turn comes.
    var isListed = false
    /// A call of it is in progress or waits for its next attempt: nothing else of it may begin.
    var isHeld = false
    /// Its call was settled by the timer and has not returned.
    var isStalled = false
    /// The source whose strand it is has been removed.
    var isLeft = false
    /// Of the strands of a key.
    var key: LaneKey?

    init(key: LaneKey?) {
        self.key = key
    }

    /// Makes it one for another source or key: nothing of it waits or is called.
    mutating func forget() {
        key = nil
        isStalled = false
        isLeft = false
        waiting.giveBackMemory()
    }
}

/// What waits: first in, first out, with a way back to the front.
struct RunQueue: Sendable {
    /// Taken ones are `nil` until the array is compacted, so that their batches are free at once.
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

    /// Takes the oldest run, or its first arrivals.
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

    /// Keeps memory for a few runs alone, while nothing waits: keys come and go, and most have one.
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

/// Whose turn it is: strands of a lane, each at most once, in a circle.
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
