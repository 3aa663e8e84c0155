/// The memory of a batch in the making: the messages' bytes, the reader's nodes, one record per arrival.
package struct BatchBuffers: Sendable {
    /// Originals, and after each one what had to be copied for it: unescaped names, texts of routes.
    package private(set) var bytes: [UInt8] = []
    /// Kept at its full count so that the reader writes in place; ``nodeCount`` of them are in use.
    private(set) var nodes: [BodyNode] = []
    private(set) var nodeCount = 0
    package var records: [ArrivalRecord] = []

    package init() {}

    init(bytes: [UInt8], nodes: [BodyNode], records: [ArrivalRecord]) {
        self.bytes = bytes
        self.nodes = nodes
        self.records = records
    }

    var footprint: Int {
        bytes.capacity + nodes.capacity * MemoryLayout<BodyNode>.stride
            + records.capacity * MemoryLayout<ArrivalRecord>.stride
    }

    /// Forgets the content and keeps the memory.
    mutating func clear() {
        bytes.removeAll(keepingCapacity: true)
        records.removeAll(keepingCapacity: true)
        nodeCount = 0
    }

    /// A state to go back to when a message turns out to be unreadable.
    struct Mark {
        fileprivate let bytes: Int
        fileprivate let nodes: Int
    }

    var mark: Mark { Mark(bytes: bytes.count, nodes: nodeCount) }

    mutating func rollBack(to mark: Mark) {
        bytes.removeSubrange(mark.bytes...)
        nodeCount = mark.nodes
    }

    /// - Returns: where the bytes begin.
    /// - Precondition: the batch stays below 2^32 bytes.
    mutating func append(_ more: UnsafeRawBufferPointer) -> Int {
        let start = bytes.count
        precondition(start + more.count <= Int(UInt32.max), "take() a batch before it holds 4 GiB")
        bytes.append(contentsOf: more)
        return start
    }

    mutating func append(_ text: String) -> Range<Int> {
        var text = text
        return text.withUTF8 { utf8 in
            let start = append(UnsafeRawBufferPointer(utf8))
            return start..<start + utf8.count
        }
    }

    /// - Returns: the node's position.
    mutating func push(_ node: BodyNode) -> Int {
        makeRoom(for: 1)
        nodes[nodeCount] = node
        nodeCount += 1
        return nodeCount - 1
    }

    /// Changes a node that is in use.
    mutating func update(_ position: Int, _ change: (inout BodyNode) -> Void) {
        change(&nodes[position])
    }

    /// Reads all bytes from `start` on as one JSON text.
    ///
    /// - Returns: the position of its root.
    mutating func parse(from start: Int, depth: Int) throws(BodyFault) -> Int {
        guard start < bytes.count else { throw BodyFault(code: .unexpectedEnd, position: start) }
        makeRoom(for: NodeTape.mostNodes(length: bytes.count - start, depth: depth))
        let root = nodeCount
        nodeCount = try bytes.withUnsafeBufferPointer { source throws(BodyFault) in
            try nodes.withUnsafeMutableBufferPointer { room throws(BodyFault) in
                let text = ByteScan(source, end: source.count)
                return try BodyParser.parse(text, from: start, onto: NodeTape(room), used: root, depth: depth)
            }
        }
        return root
    }

    private mutating func makeRoom(for more: Int) {
        let needed = nodeCount + more
        guard nodes.count < needed else { return }
        let size = max(needed, nodes.count * 2)
        nodes.append(contentsOf: repeatElement(.blank, count: size - nodes.count))
    }
}
