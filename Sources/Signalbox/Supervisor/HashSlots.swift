/// Finds the places of ids and keys by their hashes: a hash table with open addressing and linear probing.
///
/// A slot holds a tag, which is half of the hash, and a place. The tag also says where the probing starts, so no operation has
/// to read an entry that it does not look for. The caller decides whether an entry with the right tag is the one it wants.
struct HashSlots: Sendable {
    /// Each slot has the tag in its upper half, and one more than the place in its lower half. An empty slot is 0.
    private var slots: [UInt64] = []
    /// The number of places in the table.
    private(set) var count = 0

    /// The most slots that may be in use, out of four.
    private static let fullness = 3

    /// Returns the first place with the tag of a hash that fulfils the condition.
    func first(hash: UInt64, where isWanted: (UInt32) -> Bool) -> UInt32? {
        guard !slots.isEmpty else { return nil }
        var position = home(of: hash)
        while slots[position] != 0 {
            if slots[position] >> 32 == hash >> 32 {
                let place = HashSlots.place(in: slots[position])
                if isWanted(place) { return place }
            }
            position = next(position)
        }
        return nil
    }

    /// Adds a place, which must not be in the table.
    mutating func insert(_ place: UInt32, hash: UInt64) {
        if 4 * (count + 1) > HashSlots.fullness * slots.count { grow() }
        put(HashSlots.slot(place, hash))
        count += 1
    }

    /// Removes a place, if it is in the table.
    ///
    /// - Parameter hash: The hash with which the place was added.
    mutating func remove(_ place: UInt32, hash: UInt64) {
        guard !slots.isEmpty else { return }
        let slot = HashSlots.slot(place, hash)
        var hole = home(of: hash)
        while slots[hole] != slot {
            guard slots[hole] != 0 else { return }
            hole = next(hole)
        }
        count -= 1
        // A search ends at an empty slot, so each later slot of the run moves into the hole, unless the hole comes before the
        // slot where the search for it starts.
        var position = next(hole)
        while slots[position] != 0 {
            let start = home(of: slots[position])
            if distance(from: start, to: position) >= distance(from: hole, to: position) {
                slots[hole] = slots[position]
                hole = position
            }
            position = next(position)
        }
        slots[hole] = 0
    }

    private mutating func grow() {
        let old = slots
        slots = [UInt64](repeating: 0, count: max(16, 2 * old.count))
        for slot in old where slot != 0 { put(slot) }
    }

    private mutating func put(_ slot: UInt64) {
        var position = home(of: slot)
        while slots[position] != 0 { position = next(position) }
        slots[position] = slot
    }

    /// The position at which the search for a hash or slot starts.
    private func home(of hashOrSlot: UInt64) -> Int { Int(hashOrSlot >> 32) & (slots.count - 1) }

    private func next(_ position: Int) -> Int { (position + 1) & (slots.count - 1) }

    private func distance(from start: Int, to end: Int) -> Int { (end - start) & (slots.count - 1) }

    private static func slot(_ place: UInt32, _ hash: UInt64) -> UInt64 { hash & ~0xFFFF_FFFF | (UInt64(place) + 1) }

    private static func place(in slot: UInt64) -> UInt32 { UInt32(truncatingIfNeeded: slot) - 1 }
}
