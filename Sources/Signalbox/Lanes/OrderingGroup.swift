import DequeModule
import SignalboxCore

/// An ordering group in a lane, which holds the actions from one source or with one key. These actions run one after
/// the other, unless the lane is unordered.
struct OrderingGroup: Sendable {
    fileprivate(set) var waiting = Deque<BatchSlice>()
    /// Whether the group is listed to be served.
    var isListed = false
    /// Whether no other call in the group may start, because a call is in progress or waiting for its next attempt.
    var isHeld = false
    /// Whether a call in the group has been settled by the timer but has not returned.
    var isStalled = false
    /// Whether the group's source has been removed.
    fileprivate(set) var isLeft = false
    /// The hash of the group's key, or `nil` for the group of a source. The key is in ``OrderingGroups``, because most operations
    /// do not need it, and reading the group would copy it.
    fileprivate var keyHash: UInt64?
    /// The earliest tick at which the timer looks for overdue actions. Nothing in the group is overdue before that.
    fileprivate var nextLook = UInt64.max

    /// Whether the queue has ever held more slices than the group keeps memory for.
    private var hasGrown = false

    /// The number of slices that an unused group keeps memory for. Most keys are short-lived and need room for only one
    /// slice.
    private static let keptCapacity = 8

    fileprivate init(keyHash: UInt64?) {
        self.keyHash = keyHash
    }

    /// Whether the group holds the actions with one key, and not those from one source.
    var isOfKey: Bool { keyHash != nil }

    /// Adds a slice behind those that are already waiting, or before them.
    fileprivate mutating func add(_ slice: consuming BatchSlice, isFirst: Bool) {
        if isFirst { waiting.prepend(slice) } else { waiting.append(slice) }
        if waiting.count > OrderingGroup.keptCapacity { hasGrown = true }
    }

    /// Resets the group, so that it can be reused for another source or key. No action in the group may be waiting or
    /// running. The timer's next look stays, because the group may be listed for it.
    fileprivate mutating func forget() {
        keyHash = nil
        isStalled = false
        isLeft = false
        if hasGrown { waiting = Deque() }
        hasGrown = false
    }
}

/// The ordering groups of a lane, by source and by key. Each operation costs the same with one group and with many, apart
/// from those that take everything.
struct OrderingGroups: Sendable {
    /// The groups by number, unused ones included. Only this type changes what waits in them.
    var all: [OrderingGroup] = []
    private var unused: [Int] = []
    private var sources: [ObjectIdentifier: Int] = [:]
    /// The groups of keys, by the hashes of the keys.
    private var slots = HashSlots()
    /// The keys of all groups by number. Only those of the groups in ``slots`` have a meaning.
    private var keys: [LaneKey] = []
    private let hash = SeededHash()
    /// The number of groups in which actions are waiting.
    private var filled = 0
    /// The groups in which actions of sources that redeliver were waiting, by the tick of the next look at them.
    private var looks = TickSchedule<Int>()
    /// The number of groups that operations on many groups have visited so far.
    private(set) var visited = 0

    /// Whether no action is waiting.
    var isEmpty: Bool { filled == 0 }

    /// The number of waiting arrivals. This visits every group if any arrival waits.
    var waiting: Int {
        isEmpty ? 0 : all.reduce(0) { $0 + $1.waiting.reduce(0) { $0 + $1.range.count } }
    }

    /// Returns the number of the source's group, which is created if necessary.
    mutating func group(of settler: Settler) -> Int {
        let source = ObjectIdentifier(settler)
        if let known = sources[source] { return known }
        let group = newGroup(.none, keyHash: nil)
        sources[source] = group
        return group
    }

    /// Returns the number of the key's group, which is created if necessary.
    mutating func group(of key: LaneKey) -> Int {
        let keyHash = key.fastHash(hash)
        if let known = slots.first(hash: keyHash, where: { keys[Int($0)] == key }) { return Int(known) }
        let group = newGroup(key, keyHash: keyHash)
        slots.insert(UInt32(group), hash: keyHash)
        return group
    }

    private mutating func newGroup(_ key: LaneKey, keyHash: UInt64?) -> Int {
        guard let group = unused.popLast() else {
            all.append(OrderingGroup(keyHash: keyHash))
            keys.append(key)
            return all.count - 1
        }
        all[group].keyHash = keyHash
        keys[group] = key
        return group
    }

    /// Detaches the group of a removed source, so that ``free(_:)`` can free it.
    ///
    /// - Returns: The group, or `nil` if the source has none.
    mutating func detach(_ settler: Settler) -> Int? {
        guard let group = sources.removeValue(forKey: ObjectIdentifier(settler)) else { return nil }
        all[group].isLeft = true
        return group
    }

    /// Makes a group available for another source or key, if it belongs to a key or to a removed source, is neither held
    /// nor listed, and has no waiting actions.
    ///
    /// - Returns: Whether the group has been freed.
    mutating func free(_ group: Int) -> Bool {
        let keyHash = all[group].keyHash
        guard all[group].waiting.isEmpty, !all[group].isHeld, !all[group].isListed,
            keyHash != nil || all[group].isLeft
        else { return false }
        if let keyHash {
            slots.remove(UInt32(group), hash: keyHash)
            keys[group] = .none
        }
        all[group].forget()
        unused.append(group)
        return true
    }
}

// MARK: - Queues

extension OrderingGroups {
    /// Adds a slice behind those that are already waiting in the group, or before them.
    mutating func add(_ slice: consuming BatchSlice, to group: Int, isFirst: Bool = false) {
        if all[group].waiting.isEmpty { filled += 1 }
        let due = slice.dueTick
        all[group].add(slice, isFirst: isFirst)
        if let due { look(at: group, due) }
    }

    /// Removes the oldest slice, or up to `most` arrivals from its front.
    mutating func popFirst(of group: Int, most: Int) -> BatchSlice? {
        guard let count = all[group].waiting.first?.range.count else { return nil }
        if count > most { return all[group].waiting[0].removeFirst(most) }
        let slice = all[group].waiting.popFirst()
        if all[group].waiting.isEmpty { filled -= 1 }
        return slice
    }

    /// Removes the oldest slice and those behind it that can be handled together with it, and returns them as one slice.
    mutating func popFirstTogether(of group: Int) -> BatchSlice? {
        let slice = all[group].waiting.popFirstTogether()
        if slice != nil, all[group].waiting.isEmpty { filled -= 1 }
        return slice
    }

    /// Removes and returns all matching slices of a group, in order.
    mutating func takeAll(of group: Int, where isMeant: (BatchSlice) -> Bool = { _ in true }) -> [BatchSlice] {
        let taken = all[group].waiting.takeAll(where: isMeant)
        if !taken.isEmpty, all[group].waiting.isEmpty { filled -= 1 }
        return taken
    }

    /// Removes and returns all matching slices of all groups.
    mutating func takeAll(where isMeant: (BatchSlice) -> Bool = { _ in true }) -> [BatchSlice] {
        guard !isEmpty else { return [] }
        visited += all.count
        return all.indices.flatMap { takeAll(of: $0, where: isMeant) }
    }

    /// Removes and returns the slices whose ack deadline has passed. Looks only at groups in which one may be.
    mutating func takeOverdue(at now: UInt64) -> [BatchSlice] {
        var overdue: [BatchSlice] = []
        for group in looks.takeDue(at: now) where all[group].nextLook <= now {
            visited += 1
            overdue += takeAll(of: group) { $0.isOverdue(at: now) }
            all[group].nextLook = .max
            if let due = all[group].waiting.lazy.compactMap(\.dueTick).min() { look(at: group, due) }
        }
        return overdue
    }

    private mutating func look(at group: Int, _ due: UInt64) {
        guard due < all[group].nextLook else { return }
        all[group].nextLook = due
        looks.add(group, at: due)
    }
}

extension BatchSlice {
    /// The tick at which the source's ack deadline passes, or `nil` if the source does not redeliver.
    fileprivate var dueTick: UInt64? { settler.ackDeadlineTicks.map { tick + $0 } }
}

extension Deque<BatchSlice> {
    /// Removes the oldest slice and those behind it that can be handled together with it, and returns them as one slice.
    fileprivate mutating func popFirstTogether() -> BatchSlice? {
        guard let oldest = popFirst() else { return nil }
        // Without a view of the queue, whose removal would copy the queue.
        let joining = firstIndex { !$0.canJoin(oldest) } ?? count
        guard joining > 0 else { return oldest }
        let whole = oldest.joined(by: self, first: joining)
        removeFirst(joining)
        return whole
    }

    /// Removes all matching slices, and returns them in order.
    fileprivate mutating func takeAll(where isMeant: (BatchSlice) -> Bool) -> [BatchSlice] {
        // Most searches find nothing, so look for a match before copying the queue.
        guard contains(where: isMeant) else { return [] }
        defer { removeAll(where: isMeant) }
        return filter(isMeant)
    }
}
