import SignalboxCore

/// Failed calls, retries and stalls.
extension LaneState {
    /// Schedules a retry of a failed call. Its ordering group is held until then, and its worker is free.
    mutating func delay(_ sleeper: LaneSleeper, at position: Int, behindCall number: UInt64) {
        sleepers.append(sleeper)
        guard let strand = places[position].strand else { return }
        places[position].strand = nil
        guard let rest = places[position].takeRest(behindCall: number) else { return }
        strands[strand].waiting.prepend(rest)
    }

    /// Queues the retries that are due. If the lane is stalled, they end with their last failure.
    mutating func wakeSleepers(at now: UInt64) -> [LaneVerdict] {
        guard sleepers.contains(where: { $0.due <= now }) else { return [] }
        let due = sleepers.filter { $0.due <= now }
        sleepers.removeAll { $0.due <= now }
        guard !isStalled else {
            for strand in due.compactMap(\.strand) { letGo(strand) }
            return due.flatMap { $0.verdicts() }
        }
        for sleeper in due {
            if let strand = sleeper.strand { strands[strand].isHeld = false }
            putBack(sleeper.run, to: sleeper.strand)
        }
        return []
    }

    private mutating func letGo(_ strand: Int) {
        strands[strand].isHeld = false
        release(strand)
    }

    /// Marks a worker's call as settled and returns what waited for it: its whole group, or the whole lane if every
    /// worker is stalled.
    mutating func stall(_ position: Int, behindCall number: UInt64) -> [LaneRun] {
        places[position].isStalled = true
        stalledBy = places[position].current?.intake
        if sorter == position { sorter = nil }
        var unbegun: [LaneRun] = []
        if let rest = places[position].takeRest(behindCall: number) { unbegun.append(rest) }
        if let strand = places[position].strand {
            strands[strand].isStalled = true
            unbegun += strands[strand].waiting.takeAll()
        }
        return isStalled ? unbegun + takeWaiting() : unbegun
    }

    /// Marks a stalled worker's call as returned.
    mutating func endStall(_ position: Int) {
        places[position].isStalled = false
        if let strand = places[position].strand { strands[strand].isStalled = false }
    }

    mutating func takeWaiting() -> [LaneRun] {
        strands.indices.flatMap { strands[$0].waiting.takeAll() }
    }

    mutating func takeWaiting(where isMeant: (LaneRun) -> Bool) -> [LaneRun] {
        strands.indices.flatMap { strands[$0].waiting.takeAll(where: isMeant) }
    }

    mutating func takeSleepers(where isMeant: (LaneRun) -> Bool = { _ in true }) -> [LaneRun] {
        let taken = sleepers.filter { isMeant($0.run) }
        sleepers.removeAll { isMeant($0.run) }
        for strand in taken.compactMap(\.strand) { letGo(strand) }
        return taken.map(\.run)
    }
}

/// A failed action that is called again at a later tick.
struct LaneSleeper: Sendable {
    let run: LaneRun
    /// The ordering group that is held until then.
    let strand: Int?
    let due: UInt64

    /// Returns the final outcomes of the actions if no further call can be made.
    func verdicts() -> [LaneVerdict] {
        run.range.compactMap { position in
            run.failures?.outcome(at: position).map {
                LaneVerdict(run: run.part(position..<position + 1), outcome: $0, isOfAttempt: true)
            }
        }
    }
}
