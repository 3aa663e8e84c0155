import SignalboxCore

/// An ordering group of a lane: the actions of one source or key. They run in sequence unless the lane has no order.
struct OrderingGroup: Sendable {
    var waiting = Fifo<BatchSlice>()
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

    /// Most keys are short-lived and need room for only one slice.
    private static let keptCapacity = 8

    init(key: LaneKey?) {
        self.key = key
    }

    /// Resets the group for reuse by another source or key. Nothing of it may be waiting or running.
    mutating func forget() {
        key = nil
        isStalled = false
        isLeft = false
        waiting.releaseMemory(above: OrderingGroup.keptCapacity)
    }
}

extension Fifo<BatchSlice> {
    /// Removes the oldest slice, or up to `most` arrivals from its front.
    mutating func popFirst(most: Int) -> BatchSlice? {
        guard let count = front?.range.count, count > most else { return popFirst() }
        return updateFront { $0.removeFirst(most) }
    }
}
