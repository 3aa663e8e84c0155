import DequeModule
import SignalboxCore

/// An ordering group of a lane, which holds the actions of one source or of one key. The actions of a group run in
/// sequence, unless the lane has no order.
struct OrderingGroup: Sendable {
    var waiting = Deque<BatchSlice>()
    /// Whether the group is in the list of groups to serve next.
    var isListed = false
    /// Whether a call of the group is in progress or awaits its next attempt, so that no other call of the group may
    /// start.
    var isHeld = false
    /// Whether the timer settled a call of the group, and the call has not returned.
    var isStalled = false
    /// Whether the group's source has been removed.
    var isLeft = false
    /// The key of the group, or `nil` for the group of a source.
    var key: LaneKey?

    /// Whether the queue has held more slices than the group keeps memory for.
    private(set) var hasGrown = false

    /// The number of slices for which an unused group keeps memory. Most keys are short-lived and need room for only
    /// one slice.
    private static let keptCapacity = 8

    /// Adds a slice after the waiting ones.
    mutating func append(_ slice: BatchSlice) {
        waiting.append(slice)
        if waiting.count > OrderingGroup.keptCapacity { hasGrown = true }
    }

    /// Adds a slice before the waiting ones.
    mutating func prepend(_ slice: BatchSlice) {
        waiting.prepend(slice)
        if waiting.count > OrderingGroup.keptCapacity { hasGrown = true }
    }

    /// Resets the group, so that it can be reused by another source or key. No action of the group may be waiting or
    /// running.
    mutating func forget() {
        key = nil
        isStalled = false
        isLeft = false
        if hasGrown { waiting = Deque() }
        hasGrown = false
    }
}

extension Deque<BatchSlice> {
    /// Removes the oldest slice, or up to `most` arrivals from its front.
    mutating func popFirst(most: Int) -> BatchSlice? {
        guard let count = first?.range.count, count > most else { return popFirst() }
        return self[0].removeFirst(most)
    }

    /// Removes the slices that match, and returns them in order.
    mutating func takeAll(where isMeant: (BatchSlice) -> Bool = { _ in true }) -> [BatchSlice] {
        // Most searches find nothing, so they check for a match before they copy the queue.
        guard contains(where: isMeant) else { return [] }
        defer { removeAll(where: isMeant) }
        return filter(isMeant)
    }
}
