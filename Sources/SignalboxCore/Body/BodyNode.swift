/// A 16-byte entry in the index that the parser builds for a body. Each value and each member name has one entry.
///
/// A member is a key followed by its value. An object's members begin right after the object's own node. The `next` of
/// a value is the position after the value and its contents. The `next` of a key is its hash.
@usableFromInline
package struct BodyNode: Sendable {
    /// The position in the batch's bytes. For strings and keys, this is the position after the opening quote.
    @usableFromInline var start: UInt32
    @usableFromInline var length: UInt32
    @usableFromInline var next: UInt32
    /// The kind is in the low byte. The flags or the number of members are in the bits above it.
    @usableFromInline var bits: UInt32

    init(start: Int, length: Int, next: Int, bits: UInt32) {
        self.start = UInt32(truncatingIfNeeded: start)
        self.length = UInt32(truncatingIfNeeded: length)
        self.next = UInt32(truncatingIfNeeded: next)
        self.bits = bits
    }

    static let blank = BodyNode(start: 0, length: 0, next: 0, bits: 0)

    var kind: Kind { Kind(rawValue: UInt8(truncatingIfNeeded: bits)) ?? .null }
    /// The position of the value's first byte. For a string, this is its opening quote.
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
        /// Part of a topic or URL, which can be converted from text to other types.
        case routeText
        /// A payload that is text as a whole.
        case text
        /// A payload that is bytes as a whole.
        case bytes

        @inline(__always)
        var bits: UInt32 { UInt32(rawValue) }
    }

    /// Marks a string or key that contains a backslash.
    static let escaped: UInt32 = 1 << 8
    /// Marks a string or key that contains non-ASCII characters.
    static let beyondASCII: UInt32 = 1 << 9
    /// Marks the key of a hidden member: either a capture has the same name, or the envelope stores the member
    /// separately.
    static let hidden: UInt32 = 1 << 10

    static let negative: UInt32 = 1 << 8
    static let fraction: UInt32 = 1 << 9
    static let exponent: UInt32 = 1 << 10

    /// Marks a null that stands for an empty text payload.
    static let emptyText: UInt32 = 1 << 8
    /// Marks a null that stands for an empty payload of bytes.
    static let emptyBytes: UInt32 = 1 << 9

    /// The largest count that a node can store, which means "this many or more".
    static let countLimit: UInt32 = (1 << 24) - 1

    /// The number of members or elements in a container, up to ``countLimit``.
    var count: UInt32 { bits >> 8 }

    static func container(_ kind: Kind, count: UInt32) -> UInt32 {
        kind.bits | min(count, countLimit) << 8
    }
}

/// The storage for the nodes of one message. Every access is bounds-checked.
struct NodeTape {
    private let base: UnsafeMutablePointer<BodyNode>
    private let capacity: Int

    /// Creates a tape over a buffer. The buffer must outlive the tape.
    init(_ buffer: UnsafeMutableBufferPointer<BodyNode>) {
        guard let base = buffer.baseAddress else { preconditionFailure("a tape needs room for at least one node") }
        self.base = base
        capacity = buffer.count
    }

    /// Returns the maximum number of nodes that a text of `length` bytes can need. The densest text is an array of
    /// scalars, which has one node per two bytes. Each unclosed container adds one more node.
    static func maximumNodes(length: Int, depth: Int) -> Int {
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
