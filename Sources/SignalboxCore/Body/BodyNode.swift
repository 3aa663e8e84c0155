/// An entry of the index that the parser builds over a body's bytes: 16 bytes per value and per member name.
///
/// The `next` of a value is the position after the value and its contents. A member is a key followed by its value; the
/// `next` of a key is its hash. An object's members begin right after its node.
@usableFromInline
package struct BodyNode: Sendable {
    /// The position in the batch's bytes. Strings and keys exclude their quotes.
    @usableFromInline var start: UInt32
    @usableFromInline var length: UInt32
    @usableFromInline var next: UInt32
    /// The kind in the low byte, and flags or the number of members above it.
    @usableFromInline var bits: UInt32

    init(start: Int, length: Int, next: Int, bits: UInt32) {
        self.start = UInt32(truncatingIfNeeded: start)
        self.length = UInt32(truncatingIfNeeded: length)
        self.next = UInt32(truncatingIfNeeded: next)
        self.bits = bits
    }

    static let blank = BodyNode(start: 0, length: 0, next: 0, bits: 0)

    var kind: Kind { Kind(rawValue: UInt8(truncatingIfNeeded: bits)) ?? .null }
    /// The position of the value's first byte, including the quote of a string.
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
        /// Part of a topic or URL, which converts from text.
        case routeText
        /// A whole payload of text.
        case text
        /// A whole payload of bytes.
        case bytes

        @inline(__always)
        var bits: UInt32 { UInt32(rawValue) }
    }

    /// Set for a string or key that contains a backslash.
    static let escaped: UInt32 = 1 << 8
    /// Set for a string or key that is not all ASCII.
    static let beyondASCII: UInt32 = 1 << 9
    /// Set for the key of a hidden member: a capture has the same name, or the envelope stores the member separately.
    static let hidden: UInt32 = 1 << 10

    static let negative: UInt32 = 1 << 8
    static let fraction: UInt32 = 1 << 9
    static let exponent: UInt32 = 1 << 10

    /// Set for a null that is an empty text payload.
    static let emptyText: UInt32 = 1 << 8
    /// Set for a null that is an empty payload of bytes.
    static let emptyBytes: UInt32 = 1 << 9

    /// The count that means "this many or more".
    static let countLimit: UInt32 = (1 << 24) - 1

    /// The number of members or elements of a container, up to ``countLimit``.
    var count: UInt32 { bits >> 8 }

    static func container(_ kind: Kind, count: UInt32) -> UInt32 {
        kind.bits | min(count, countLimit) << 8
    }
}

/// Storage for the nodes of one message. Bounds-checked.
struct NodeTape {
    private let base: UnsafeMutablePointer<BodyNode>
    private let capacity: Int

    /// Creates a tape over a buffer, which must outlive it.
    init(_ buffer: UnsafeMutableBufferPointer<BodyNode>) {
        guard let base = buffer.baseAddress else { preconditionFailure("a tape needs room for at least one node") }
        self.base = base
        capacity = buffer.count
    }

    /// Returns the maximum number of nodes in a text of `length` bytes. Scalars in an array are the densest at two
    /// bytes each; each unclosed container adds one node.
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
