extension BodyView {
    /// The position of the value of the member called `name`, names being compared as `String`s.
    @inline(__always)
    func member(_ name: String) -> UInt32? {
        node.count < BodyView.manyMembers ? memberOfFew(name) : memberOfMany(name)
    }

    /// From so many members on, an object's members are expected in their order.
    private static let manyMembers: UInt32 = 65

    /// Whoever reads all members, as a dictionary does, would search through the square of their number; one comparison
    /// for each is enough where they are read as they come.
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
        /// Whether no name had to be passed over that only a comparison as `String`s decides.
        let isSettled: Bool
    }

    /// Searches by bytes: settles it where the name and the object's names are plain ASCII.
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

    /// - Precondition: `length` is above 8, and both places have as many bytes.
    @inline(__always)
    private static func same(_ left: UnsafePointer<UInt8>, _ right: UnsafePointer<UInt8>, length: Int) -> Bool {
        var offset = 8
        while offset < length {
            let place = min(offset, length &- 8)
            let one = UnsafeRawPointer(left + place).loadUnaligned(as: UInt64.self)
            let other = UnsafeRawPointer(right + place).loadUnaligned(as: UInt64.self)
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
    /// Whether no byte is above 0x7F.
    var isASCII: Bool {
        var index = 0
        while index < end {
            guard word(index) & 0x8080_8080_8080_8080 == 0 else { return false }
            index &+= 8
        }
        return true
    }
}
