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
