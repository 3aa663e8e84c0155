/// Whose turn it is: strands of a lane, each at most once, in a circle.
struct TurnList: Sendable {
    private var strands: [Int] = []
    private var first = 0

    var isEmpty: Bool { first == strands.count }

    mutating func append(_ strand: Int) {
        strands.append(strand)
    }

    mutating func popFirst() -> Int? {
        guard first < strands.count else { return nil }
        defer { compact() }
        first += 1
        return strands[first - 1]
    }

    mutating func removeAll() {
        self = TurnList()
    }

    private mutating func compact() {
        if isEmpty {
            strands.removeAll(keepingCapacity: true)
            first = 0
        } else if first >= 64, first * 2 > strands.count {
            strands.removeFirst(first)
            first = 0
        }
    }
}
