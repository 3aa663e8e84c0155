/// An ordering group of a lane: the actions of one source or key. They run in sequence unless the lane has no order.
struct OrderingGroup: Sendable {
    var waiting = SliceQueue()
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
        waiting.shrink()
    }
}

/// A first-in, first-out queue of batch slices that also accepts slices at its front.
struct SliceQueue: Sendable {
    /// Removed slices are `nil` until the array is compacted, which frees their batches at once.
    private var slices: [BatchSlice?] = []
    private var first = 0

    var isEmpty: Bool { first == slices.count }

    mutating func append(_ slice: BatchSlice) {
        slices.append(slice)
    }

    mutating func prepend(_ slice: BatchSlice) {
        guard first > 0 else { return slices.insert(slice, at: 0) }
        first -= 1
        slices[first] = slice
    }

    /// Removes the oldest slice, or up to `most` arrivals from its front.
    mutating func popFirst(most: Int = .max) -> BatchSlice? {
        guard first < slices.count, let slice = slices[first] else { return nil }
        guard slice.range.count > most else {
            slices[first] = nil
            first += 1
            compact()
            return slice
        }
        let cut = slice.range.lowerBound + most
        slices[first]?.range = cut..<slice.range.upperBound
        return slice.part(slice.range.lowerBound..<cut)
    }

    mutating func takeAll() -> [BatchSlice] {
        defer { self = SliceQueue() }
        return slices[first...].compactMap { $0 }
    }

    mutating func takeAll(where isMeant: (BatchSlice) -> Bool) -> [BatchSlice] {
        guard slices[first...].contains(where: { $0.map(isMeant) ?? false }) else { return [] }
        let all = takeAll()
        slices = all.filter { !isMeant($0) }
        return all.filter(isMeant)
    }

    /// Frees the memory of an empty queue beyond a few slices, because most keys are short-lived and need only one.
    mutating func shrink() {
        if isEmpty, slices.capacity > SliceQueue.keptCapacity { self = SliceQueue() }
    }

    private static let keptCapacity = 8

    private mutating func compact() {
        if isEmpty {
            slices.removeAll(keepingCapacity: true)
            first = 0
        } else if first >= 64, first * 2 > slices.count {
            slices.removeFirst(first)
            first = 0
        }
    }
}

/// A round-robin list of the ordering groups to serve next. Each group appears at most once.
struct TurnList: Sendable {
    private var groups: [Int] = []
    private var first = 0

    var isEmpty: Bool { first == groups.count }

    mutating func append(_ group: Int) {
        groups.append(group)
    }

    mutating func popFirst() -> Int? {
        guard first < groups.count else { return nil }
        defer { compact() }
        first += 1
        return groups[first - 1]
    }

    mutating func removeAll() {
        self = TurnList()
    }

    private mutating func compact() {
        if isEmpty {
            groups.removeAll(keepingCapacity: true)
            first = 0
        } else if first >= 64, first * 2 > groups.count {
            groups.removeFirst(first)
            first = 0
        }
    }
}
