import DequeModule
import SignalboxCore

/// An ordering group in a lane, which holds the actions from one source or with one key. These actions run one after
/// the other, unless the lane is unordered.
struct OrderingGroup: Sendable {
    var waiting = Deque<BatchSlice>()
    /// Whether the group is listed to be served.
    var isListed = false
    /// Whether no other call in the group may start, because a call is in progress or waiting for its next attempt.
    var isHeld = false
    /// Whether a call in the group has been settled by the timer but has not returned.
    var isStalled = false
    /// Whether the group's source has been removed.
    var isLeft = false
    /// The group's key, or `nil` for the group of a source.
    var key: LaneKey?

    /// Whether the queue has ever held more slices than the group keeps memory for.
    private(set) var hasGrown = false

    /// The number of slices that an unused group keeps memory for. Most keys are short-lived and need room for only one
    /// slice.
    private static let keptCapacity = 8

    /// Adds a slice behind those that are already waiting.
    mutating func append(_ slice: BatchSlice) {
        waiting.append(slice)
        if waiting.count > OrderingGroup.keptCapacity { hasGrown = true }
    }

    /// Adds a slice before those that are already waiting.
    mutating func prepend(_ slice: BatchSlice) {
        waiting.prepend(slice)
        if waiting.count > OrderingGroup.keptCapacity { hasGrown = true }
    }

    /// Resets the group, so that it can be reused for another source or key. No action in the group may be waiting or
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

    /// Removes the oldest slice and those behind it that can be handled together with it, and returns them as one slice.
    mutating func popFirstTogether() -> BatchSlice? {
        guard let oldest = popFirst() else { return nil }
        // Without a view of the queue, whose removal would copy the queue.
        let joining = firstIndex { !$0.canJoin(oldest) } ?? count
        guard joining > 0 else { return oldest }
        let whole = oldest.joined(by: self, first: joining)
        removeFirst(joining)
        return whole
    }

    /// Removes all matching slices, and returns them in order.
    mutating func takeAll(where isMeant: (BatchSlice) -> Bool = { _ in true }) -> [BatchSlice] {
        // Most searches find nothing, so look for a match before copying the queue.
        guard contains(where: isMeant) else { return [] }
        defer { removeAll(where: isMeant) }
        return filter(isMeant)
    }
}
