/// A list of objects that adds, finds and removes each in constant time. Unlike the order of a set, the order of the list
/// is the same in every run with the same changes.
struct Roster<Member: AnyObject & Sendable>: Sendable {
    private var positions: [ObjectIdentifier: Int] = [:]
    /// The members in the order in which they were added, except that the last one takes the place of one that is
    /// removed. Reading the list copies nothing.
    private(set) var all: [Member] = []

    var isEmpty: Bool { all.isEmpty }

    func contains(_ member: Member) -> Bool { positions[ObjectIdentifier(member)] != nil }

    /// Adds an object that is not a member yet.
    mutating func add(_ member: Member) {
        positions[ObjectIdentifier(member)] = all.count
        all.append(member)
    }

    /// Removes an object if it is a member.
    mutating func remove(_ member: Member) {
        guard let position = positions.removeValue(forKey: ObjectIdentifier(member)), let last = all.popLast() else {
            return
        }
        guard last !== member else { return }
        all[position] = last
        positions[ObjectIdentifier(last)] = position
    }
}
