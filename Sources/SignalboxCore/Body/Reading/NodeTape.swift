/// Room for the nodes of one message. Writes are checked against its capacity.
struct NodeTape {
    private let base: UnsafeMutablePointer<BodyNode>
    private let capacity: Int

    /// The buffer must stay valid as long as the tape is used.
    init(_ buffer: UnsafeMutableBufferPointer<BodyNode>) {
        guard let base = buffer.baseAddress else { preconditionFailure("a tape needs room for at least one node") }
        self.base = base
        capacity = buffer.count
    }

    /// How many nodes a text of `length` bytes can have: a scalar in an array is the densest, two bytes each, and
    /// containers that never close add one each.
    static func mostNodes(length: Int, depth: Int) -> Int {
        length / 2 + depth + 2
    }

    subscript(index: Int) -> BodyNode {
        @inline(__always)
        get {
            precondition(UInt(bitPattern: index) < UInt(bitPattern: capacity), "node index out of range")
            return base[index]
        }
        @inline(__always)
        nonmutating set {
            precondition(UInt(bitPattern: index) < UInt(bitPattern: capacity), "node index out of range")
            base[index] = newValue
        }
    }
}
