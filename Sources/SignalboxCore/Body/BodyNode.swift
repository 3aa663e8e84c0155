/// One entry of the index that the reader leaves over a body's bytes: 16 bytes per value and per member name.
///
/// A value's `next` is the position after it and all it contains. A member is a key followed by its value; a key's
/// `next` is its hash. An object's members begin right after its node.
@usableFromInline
package struct BodyNode: Sendable {
    /// Position in the batch's bytes; strings and keys without their quotes.
    @usableFromInline var start: UInt32
    @usableFromInline var length: UInt32
    @usableFromInline var next: UInt32
    /// The kind in the low byte, above it flags or the number of members.
    @usableFromInline var bits: UInt32

    init(start: Int, length: Int, next: Int, bits: UInt32) {
        self.start = UInt32(truncatingIfNeeded: start)
        self.length = UInt32(truncatingIfNeeded: length)
        self.next = UInt32(truncatingIfNeeded: next)
        self.bits = bits
    }

    static let blank = BodyNode(start: 0, length: 0, next: 0, bits: 0)

    var kind: Kind { Kind(rawValue: UInt8(truncatingIfNeeded: bits)) ?? .null }
    /// Position of the value's first byte, the quote of a string included.
    var firstByte: Int { self.is(.string) ? Int(start) - 1 : Int(start) }
    var end: Int { Int(start) + Int(length) }

    @inline(__always)
    func `is`(_ kind: Kind) -> Bool { UInt8(truncatingIfNeeded: bits) == kind.rawValue }

    func has(_ flag: UInt32) -> Bool { bits & flag != 0 }
}

extension BodyNode {
    @usableFromInline
    enum Kind: UInt8, Sendable {
        case null, `false`, `true`, number, string, array, object, key
        /// A piece of a topic or URL, which converts from text.
        case routeText
        /// A whole payload of text.
        case text
        /// A whole payload of bytes.
        case bytes

        @inline(__always)
        var bits: UInt32 { UInt32(rawValue) }
    }

    /// Of a string or key: it holds a backslash.
    static let escaped: UInt32 = 1 << 8
    /// Of a string or key: its content is not all ASCII.
    static let beyondASCII: UInt32 = 1 << 9
    /// Of a key: the member does not show: a capture has its name, or its envelope keeps it apart.
    static let hidden: UInt32 = 1 << 10

    static let negative: UInt32 = 1 << 8
    static let fraction: UInt32 = 1 << 9
    static let exponent: UInt32 = 1 << 10

    /// Of a null: an empty payload of text.
    static let emptyText: UInt32 = 1 << 8
    /// Of a null: an empty payload of bytes.
    static let emptyBytes: UInt32 = 1 << 9

    /// A count that stands for "this many or more".
    static let countLimit: UInt32 = (1 << 24) - 1

    /// The number of members or elements of a container, up to ``countLimit``.
    var count: UInt32 { bits >> 8 }

    static func container(_ kind: Kind, count: UInt32) -> UInt32 {
        kind.bits | min(count, countLimit) << 8
    }
}

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
