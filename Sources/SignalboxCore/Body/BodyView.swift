/// A position in a body, which consists of the batch's storage, the body's root and a node. The view retains the
/// storage.
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

    /// Calls `body` with a scan over all bytes in the batch.
    @inline(__always)
    func withText<Result, Failure: Error>(_ body: (ByteScan) throws(Failure) -> Result) throws(Failure) -> Result {
        try storage.bytes.withUnsafeBufferPointer { bytes throws(Failure) in
            try body(ByteScan(bytes, end: bytes.count))
        }
    }

    /// Returns the content of a string or key.
    @inline(__always)
    func text(of node: BodyNode) -> String {
        withText { $0.string(at: Int(node.start), length: Int(node.length), flags: node.bits) }
    }

    /// Returns the text of a literal exactly as the sender wrote it.
    func literal(of node: BodyNode) -> String {
        withText { $0.string(at: Int(node.start), length: Int(node.length), flags: 0) }
    }
}

extension BodyView {
    /// Returns the position of the value of the member `name`. Names match if they are equal as `String`s.
    @inline(__always)
    func member(_ name: String) -> UInt32? {
        node.count < BodyView.manyMembers ? memberOfFew(name) : memberOfMany(name)
    }

    /// The minimum number of members at which an object's members are assumed to be read in order.
    private static let manyMembers: UInt32 = 65

    /// Reading every member by name, as a dictionary does, would be quadratic in the number of members. If the members
    /// are instead read in order, a single comparison finds the expected member.
    @inline(never)
    private func memberOfMany(_ name: String) -> UInt32? {
        if let expected = storage.expectedKey(of: position) {
            var members = BodyMembers(of: self, from: expected)
            if let key = members.next(), text(of: node(at: key)) == name { return found(key + 1) }
        }
        return memberOfFew(name).map(found)
    }

    private func found(_ member: UInt32) -> UInt32 {
        storage.expect(node(at: member).next, of: position)
        return member
    }

    @inline(__always)
    private func memberOfFew(_ name: String) -> UInt32? {
        var name = name
        let found = name.withUTF8 { member($0) }
        return found.isSettled ? found.position : memberByText(name)
    }

    struct Search {
        let position: UInt32?
        /// Whether comparing bytes was conclusive. If it was not, the names must be compared as `String`s.
        let isSettled: Bool
    }

    /// Searches by comparing bytes. The result is conclusive if the name and all names in the object are plain ASCII.
    @inline(__always)
    func member(_ name: UnsafeBufferPointer<UInt8>) -> Search {
        guard let base = name.baseAddress else { return Search(position: nil, isSettled: false) }
        let wanted = ByteScan(name, end: name.count)
        let head = wanted.word(0)
        let length = name.count
        let mask = length >= 8 ? UInt64.max : (1 << UInt64(length * 8)) &- 1
        return withText { text in
            var key = position &+ 1
            let end = node.next
            while key != end {
                let entry = node(at: key)
                if entry.bits != BodyNode.Kind.key.bits {
                    if !entry.has(BodyNode.hidden) { return Search(position: nil, isSettled: false) }
                } else if Int(entry.length) == length, (text.word(Int(entry.start)) ^ head) & mask == 0,
                    length <= 8 || BodyView.same(base, text.base + Int(entry.start), length: length)
                {
                    return Search(position: key &+ 1, isSettled: true)
                }
                key = node(at: key &+ 1).next
            }
            return Search(position: nil, isSettled: head & mask & 0x8080_8080_8080_8080 == 0 && wanted.isASCII)
        }
    }

    /// - Precondition: `length` is greater than 8, and both pointers have that many bytes.
    @inline(__always)
    private static func same(_ left: UnsafePointer<UInt8>, _ right: UnsafePointer<UInt8>, length: Int) -> Bool {
        var offset = 8
        while offset < length {
            let index = min(offset, length &- 8)
            let one = UnsafeRawPointer(left + index).loadUnaligned(as: UInt64.self)
            let other = UnsafeRawPointer(right + index).loadUnaligned(as: UInt64.self)
            guard one == other else { return false }
            offset &+= 8
        }
        return true
    }

    @inline(never)
    private func memberByText(_ name: String) -> UInt32? {
        for key in BodyMembers(of: self) where text(of: node(at: key)) == name {
            return key + 1
        }
        return nil
    }
}

extension ByteScan {
    /// Whether all bytes are at most 0x7F.
    var isASCII: Bool {
        var index = 0
        while index < end {
            guard word(index) & 0x8080_8080_8080_8080 == 0 else { return false }
            index &+= 8
        }
        return true
    }
}

/// The positions of an object's member names, in order. Hidden members are skipped.
struct BodyMembers: Sequence, IteratorProtocol {
    private let view: BodyView
    private var key: UInt32
    private let end: UInt32

    /// - Precondition: `view` refers to an object.
    init(of view: BodyView) {
        self.init(of: view, from: view.position + 1)
    }

    /// - Precondition: `view` refers to an object, and `key` is the position of a member's name or the object's end.
    init(of view: BodyView, from key: UInt32) {
        self.view = view
        self.key = key
        end = view.node.next
    }

    mutating func next() -> UInt32? {
        while key != end {
            let current = key
            key = view.node(at: current + 1).next
            if !view.node(at: current).has(BodyNode.hidden) { return current }
        }
        return nil
    }
}

/// The positions of an array's elements, in order.
struct BodyElements: Sequence, IteratorProtocol {
    private let view: BodyView
    private var element: UInt32
    private let end: UInt32

    /// - Precondition: `view` refers to an array.
    init(of view: BodyView) {
        self.view = view
        element = view.position + 1
        end = view.node.next
    }

    mutating func next() -> UInt32? {
        guard element != end else { return nil }
        defer { element = view.node(at: element).next }
        return element
    }
}
