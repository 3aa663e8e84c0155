/// A place in a body: the batch's memory, kept alive, the body's root and the node in question.
@usableFromInline
struct BodyView: Sendable {
    let storage: BatchStorage
    let root: UInt32
    let position: UInt32

    @inline(__always)
    var node: BodyNode { storage.nodes[Int(position)] }

    @inline(__always)
    func node(at position: UInt32) -> BodyNode { storage.nodes[Int(position)] }

    @inline(__always)
    func at(_ position: UInt32) -> BodyView {
        BodyView(storage: storage, root: root, position: position)
    }

    var isNull: Bool { node.is(.null) }

    /// Calls `body` with a scan over all of the batch's bytes.
    @inline(__always)
    func withText<Result, Failure: Error>(_ body: (ByteScan) throws(Failure) -> Result) throws(Failure) -> Result {
        try storage.bytes.withUnsafeBufferPointer { bytes throws(Failure) in
            try body(ByteScan(bytes, end: bytes.count))
        }
    }

    /// A string's or key's content.
    @inline(__always)
    func text(of node: BodyNode) -> String {
        withText { $0.string(at: Int(node.start), length: Int(node.length), flags: node.bits) }
    }

    /// A literal as it was written.
    func literal(of node: BodyNode) -> String {
        withText { $0.string(at: Int(node.start), length: Int(node.length), flags: 0) }
    }
}
