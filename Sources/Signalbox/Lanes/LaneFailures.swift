import DequeModule
import SignalboxCore

/// Handles failed calls, retries and stalls.
extension LaneState {
    /// Schedules a retry for a failed call. Until the retry, the ordering group is held, but the worker is free for
    /// other groups.
    mutating func delay(_ retry: ScheduledRetry, at position: Int, behindCall number: UInt64) {
        retries.add(retry, at: retry.due)
        guard let group = workers[position].group else { return }
        workers[position].group = nil
        guard let rest = workers[position].takeRest(behindCall: number) else { return }
        groups.add(rest, to: group, isFirst: true)
    }

    /// Queues the retries that are due. If the lane is stalled, no retry is made, and each action ends with its last
    /// failure.
    mutating func queueDueRetries(at now: UInt64) -> [Verdict] {
        let due = retries.takeDue(at: now)
        guard !isStalled else {
            for group in due.compactMap(\.group) { releaseHeld(group) }
            return due.flatMap { $0.verdicts() }
        }
        for retry in due {
            if let group = retry.group { groups.all[group].isHeld = false }
            putBack(retry.slice, to: retry.group)
        }
        return []
    }

    private mutating func releaseHeld(_ group: Int) {
        groups.all[group].isHeld = false
        release(group)
    }

    /// Marks a worker's call as settled.
    ///
    /// - Returns: The slices that can no longer start because of this call. They belong to the call's group or, if
    ///   every worker is stalled, to any group in the lane.
    mutating func stall(_ position: Int, behindCall number: UInt64) -> [BatchSlice] {
        workers[position].isStalled = true
        stalledBy = workers[position].current?.settler
        if sorter == position { sorter = nil }
        var unbegun: [BatchSlice] = []
        if let rest = workers[position].takeRest(behindCall: number) { unbegun.append(rest) }
        if let group = workers[position].group {
            groups.all[group].isStalled = true
            unbegun += groups.takeAll(of: group)
        }
        return isStalled ? unbegun + groups.takeAll() : unbegun
    }

    /// Marks a stalled worker's call as returned.
    mutating func endStall(_ position: Int) {
        workers[position].isStalled = false
        if let group = workers[position].group { groups.all[group].isStalled = false }
    }

    mutating func takeRetries(where isMeant: (BatchSlice) -> Bool = { _ in true }) -> [BatchSlice] {
        let taken = retries.takeAll { isMeant($0.slice) }
        for group in taken.compactMap(\.group) { releaseHeld(group) }
        return taken.map(\.slice)
    }
}

/// A failed action that will be called again at a later tick.
struct ScheduledRetry: Sendable {
    let slice: BatchSlice
    /// The ordering group, which is held until the retry.
    let group: Int?
    let due: UInt64

    /// Returns the outcomes that the actions receive if no further call can be made.
    func verdicts() -> [Verdict] {
        slice.range.compactMap { position in
            slice.failures?.outcome(at: position).map {
                Verdict(slice: slice.part(position..<position + 1), outcome: $0, isOfAttempt: true)
            }
        }
    }
}
