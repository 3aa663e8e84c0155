extension BatchBuffers {
    /// The eight bytes at a node's beginning, the first in the low byte; zeros beyond the end.
    @inline(__always)
    func word(at node: BodyNode) -> UInt64 {
        bytes.withUnsafeBufferPointer { ByteScan($0, end: $0.count).word(Int(node.start)) }
    }

    /// A string's or key's content.
    func text(of node: BodyNode) -> String {
        bytes.withUnsafeBufferPointer { source in
            ByteScan(source, end: source.count)
                .string(at: Int(node.start), length: Int(node.length), flags: node.bits)
        }
    }

    func withBytes<Result>(in range: Range<Int>, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[range])) }
    }

    /// Where a string's content lies without escapes: in place, or in a copy that is appended.
    mutating func plainRange(of node: BodyNode) -> Range<Int> {
        guard node.has(BodyNode.escaped) else { return Int(node.start)..<node.end }
        return append(text(of: node))
    }

    func checkText(from start: Int) throws(BodyFault) {
        try bytes.withUnsafeBufferPointer { source throws(BodyFault) in
            try ByteScan(source, end: source.count).checkText(from: start)
        }
    }
}
