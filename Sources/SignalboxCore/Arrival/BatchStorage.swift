import Synchronization

/// The storage that ``Bytes``, ``Body``, ``ActionName``, ``ActionID`` and ``Arrival`` refer to.
///
/// The storage is immutable, so threads share it without a lock. Its buffers return to their pool when the last
/// reference is released. To keep a few bytes longer without keeping the whole batch, copy them with
/// ``Bytes/copied()``.
@usableFromInline
package final class BatchStorage: Sendable {
    @usableFromInline package let bytes: [UInt8]
    @usableFromInline package let nodes: [BodyNode]
    package let records: [ArrivalRecord]
    package let tables: ArrivalTables
    /// The member that the next search is likely to look for. The high half of the value is the position of the object,
    /// and the low half is the position of the member's name. Every stored value is correct for its object, so
    /// concurrent stores may overwrite each other.
    private let expectation = Atomic<UInt64>(0)
    private let pool: ArrivalPool?

    init(buffers: consuming BatchBuffers, tables: ArrivalTables = ArrivalTables(), pool: ArrivalPool? = nil) {
        bytes = buffers.bytes
        nodes = buffers.nodes
        records = buffers.records
        self.tables = tables
        self.pool = pool
    }

    deinit {
        pool?.recycle(BatchBuffers(bytes: bytes, nodes: nodes, records: records))
    }
}

extension BatchStorage {
    /// Returns the position of the name that follows the last member found, if that member belongs to `object`.
    func expectedKey(of object: UInt32) -> UInt32? {
        let (owner, key) = expectation.load(ordering: .relaxed).quotientAndRemainder(dividingBy: 1 << 32)
        return owner == object && key > 0 ? UInt32(key) : nil
    }

    /// Stores the member that the next search in `object` should try first.
    ///
    /// - Parameter key: The position of the name, or the end of the object.
    func expect(_ key: UInt32, of object: UInt32) {
        expectation.store(UInt64(object) << 32 | UInt64(key), ordering: .relaxed)
    }
}

/// The buffers of a batch under construction: message bytes, parser nodes, and one record per arrival.
package struct BatchBuffers: Sendable {
    /// The original messages, each followed by the data copied for it: unescaped names and route texts.
    package private(set) var bytes: [UInt8] = []
    /// The nodes, of which only the first ``nodeCount`` are in use. The array keeps its full count so that the parser
    /// can write in place.
    private(set) var nodes: [BodyNode] = []
    private(set) var nodeCount = 0
    package var records: [ArrivalRecord] = []

    var footprint: Int {
        bytes.capacity + nodes.capacity * MemoryLayout<BodyNode>.stride
            + records.capacity * MemoryLayout<ArrivalRecord>.stride
    }

    /// Removes the content but keeps the allocated memory.
    mutating func clear() {
        bytes.removeAll(keepingCapacity: true)
        records.removeAll(keepingCapacity: true)
        nodeCount = 0
    }

    /// The state to which the buffers return if a message cannot be parsed.
    struct Mark {
        fileprivate let bytes: Int
        fileprivate let nodes: Int
    }

    var mark: Mark { Mark(bytes: bytes.count, nodes: nodeCount) }

    mutating func rollBack(to mark: Mark) {
        bytes.removeSubrange(mark.bytes...)
        nodeCount = mark.nodes
    }

    /// Appends bytes and returns the position of the first one.
    ///
    /// - Precondition: The batch stays below 2^32 bytes.
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

    /// Pushes a node and returns its position.
    mutating func push(_ node: BodyNode) -> Int {
        makeRoom(for: 1)
        nodes[nodeCount] = node
        nodeCount += 1
        return nodeCount - 1
    }

    /// Pushes a value whose text or bytes are in `range`.
    ///
    /// - Returns: The position of the node.
    mutating func push(_ kind: BodyNode.Kind, _ range: Range<Int>, flags: UInt32 = 0) -> Int {
        push(BodyNode(start: range.lowerBound, length: range.count, next: nodeCount + 1, bits: kind.bits | flags))
    }

    /// Modifies a node that is in use.
    mutating func update(_ position: Int, _ change: (inout BodyNode) -> Void) {
        change(&nodes[position])
    }

    /// Parses the bytes from `start` to the end as one JSON text.
    ///
    /// - Returns: The position of the root node.
    /// - Throws: ``BodyError`` with an offset relative to `start`.
    mutating func parse(from start: Int, depth: Int) throws(BodyError) -> Int {
        guard start < bytes.count else { throw BodyError(.unexpectedEnd, offset: 0) }
        makeRoom(for: NodeTape.maximumNodes(length: bytes.count - start, depth: depth))
        let root = nodeCount
        do {
            nodeCount = try bytes.withUnsafeBufferPointer { source throws(BodyParserError) in
                try nodes.withUnsafeMutableBufferPointer { room throws(BodyParserError) in
                    let text = ByteScan(source, end: source.count)
                    return try BodyParser.parse(text, from: start, onto: NodeTape(room), used: root, depth: depth)
                }
            }
        } catch {
            throw BodyError(error.code, offset: error.position - start)
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

extension BatchBuffers {
    /// Returns the first eight bytes of the node's text, with the first byte in the low bits. A shorter text is padded
    /// with zeros.
    @inline(__always)
    func word(at node: BodyNode) -> UInt64 {
        bytes.withUnsafeBufferPointer { ByteScan($0, end: $0.count).word(Int(node.start)) }
    }

    /// Returns the content of a string or key.
    func text(of node: BodyNode) -> String {
        bytes.withUnsafeBufferPointer { source in
            ByteScan(source, end: source.count)
                .string(at: Int(node.start), length: Int(node.length), flags: node.bits)
        }
    }

    func withBytes<Result>(in range: Range<Int>, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[range])) }
    }

    /// Returns the range of a string's unescaped content. If the string has escapes, its unescaped content is appended
    /// to the bytes first.
    mutating func plainRange(of node: BodyNode) -> Range<Int> {
        guard node.has(BodyNode.escaped) else { return Int(node.start)..<node.end }
        return append(text(of: node))
    }

    /// Checks that the bytes from `start` are valid UTF-8.
    ///
    /// - Throws: ``BodyError`` with an offset relative to `start`.
    func checkText(from start: Int) throws(BodyError) {
        do {
            try bytes.withUnsafeBufferPointer { source throws(BodyParserError) in
                try ByteScan(source, end: source.count).checkText(from: start)
            }
        } catch {
            throw BodyError(error.code, offset: error.position - start)
        }
    }
}

/// The fixed-size part of an arrival: its ranges and positions in the batch.
package struct ArrivalRecord: Sendable {
    /// A value that stands for "no position".
    package static let none = UInt32.max

    package var token: UInt64
    package var receivedAt: WallTime
    package var originalStart: UInt32 = 0
    package var originalLength: UInt32 = 0
    package var nameStart: UInt32 = 0
    package var nameLength: UInt32 = 0
    package var idStart: UInt32 = 0
    package var idLength: UInt32 = 0
    package var body: UInt32 = 0
    package var origin: UInt32
    package var sender: UInt32 = none
    package var deadline: UInt32 = none
    package var rejection: UInt32 = none
    package var idKey = IDKey.assigned
    package var envelope = EnvelopeKind.none
    package var unreadableItems: UInt16 = 0
    /// The position of the node that the envelope keeps separate from the body, or ``none``.
    package var metadata: UInt32 = none
}

extension ArrivalRecord {
    mutating func setName(_ start: Int, length: Int) {
        nameStart = UInt32(start)
        nameLength = UInt32(length)
    }

    mutating func setID(_ start: Int, length: Int, key: IDKey) {
        idStart = UInt32(start)
        idLength = UInt32(length)
        idKey = key
    }
}

/// The values that several arrivals in a batch share, and the values that only a few arrivals have.
package struct ArrivalTables: Sendable {
    package var origins: [Origin] = []
    package private(set) var senders: [any Sender] = []
    /// The identity of the last sender, or `nil` if that sender is a value type, which has no identity.
    private var lastSender: SenderIdentity?
    package var deadlines: [ContinuousClock.Instant] = []
    package var rejections: [Outcome.Rejection] = []
    /// A random number for each ``ArrivalBatch``, so that assigned ids differ each time a program runs.
    package var idPrefix: UInt64 = 0
    /// The number of arrivals appended to the ``ArrivalBatch`` before this batch.
    package var firstSerial: UInt64 = 0

    /// The ids that restored messages were assigned before, by position, or empty.
    package var keptIDs: [ActionID?] = []

    /// The trace context of the only arrival, if its envelope was left behind when its body was replaced.
    package var trace: TraceContext?

    package func assignedID(at index: UInt32) -> ActionID {
        if Int(index) < keptIDs.count, let kept = keptIDs[Int(index)] { return kept }
        let prefix = String(idPrefix, radix: 16)
        return ActionID(unchecked: Bytes("\(prefix)-\(firstSerial + UInt64(index))"))
    }
}

extension ArrivalTables {
    /// Returns the position of an origin. Consecutive arrivals with the same origin object share one entry.
    mutating func position(of origin: Origin) -> UInt32 {
        if let last = origins.last, last === origin { return UInt32(origins.count - 1) }
        origins.append(origin)
        return UInt32(origins.count - 1)
    }

    /// Returns the position of a sender. Consecutive arrivals with the same sender object share one entry.
    mutating func position(of sender: any Sender) -> UInt32 {
        if let lastSender, lastSender.matches(sender) { return UInt32(senders.count - 1) }
        senders.append(sender)
        lastSender = SenderIdentity(sender)
        return UInt32(senders.count - 1)
    }

    /// Returns the position of a deadline. Consecutive equal deadlines share one entry.
    mutating func position(of deadline: ContinuousClock.Instant) -> UInt32 {
        if deadlines.last != deadline { deadlines.append(deadline) }
        return UInt32(deadlines.count - 1)
    }

    mutating func append(_ rejection: Outcome.Rejection) -> UInt32 {
        rejections.append(rejection)
        return UInt32(rejections.count - 1)
    }
}

/// The identity of a sender object. Identities are compared for every arrival, and a cast to `AnyObject` would cost
/// more than parsing the message.
///
/// An identity is valid only while the object is retained, because a different object may reuse the memory.
struct SenderIdentity {
    private let type: ObjectIdentifier
    private let reference: UInt

    /// Creates the identity of a sender, or returns `nil` if the sender is a value type, which has no identity.
    init?(_ sender: any Sender) {
        let type = Swift.type(of: sender)
        guard type is AnyClass else { return nil }
        self.type = ObjectIdentifier(type)
        reference = SenderIdentity.firstWord(of: sender)
    }

    func matches(_ sender: any Sender) -> Bool {
        SenderIdentity.firstWord(of: sender) == reference && ObjectIdentifier(Swift.type(of: sender)) == type
    }

    // Returns the object reference if the type is a class. An existential begins with its value, and stores up to three
    // words inline (https://github.com/swiftlang/swift/blob/main/docs/ABI/TypeLayout.rst, "Opaque existential
    // containers").
    private static func firstWord(of sender: any Sender) -> UInt {
        withUnsafeBytes(of: sender) { $0.load(as: UInt.self) }
    }
}
