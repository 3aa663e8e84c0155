extension Arrival {
    /// Whether it is this very arrival of this very batch.
    package func isSame(as other: Arrival) -> Bool {
        storage === other.storage && index == other.index
    }

    /// Whether an arrival of its batch has a deadline.
    package var isAmongDeadlines: Bool { !storage.tables.deadlines.isEmpty }

    /// Whether its sender gave it an id, which is asked of readable arrivals only.
    package var hasSendersID: Bool { storage.records[Int(index)].idKey != .assigned }

    /// The bytes of the sender's id where they lie; none when it gave none.
    package func withIDBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        let start = Int(storage.records[Int(index)].idStart)
        let length = Int(storage.records[Int(index)].idLength)
        return storage.bytes.withUnsafeBytes { whole in
            body(UnsafeRawBufferPointer(rebasing: whole[start..<start + length]))
        }
    }

    /// The attribute `source` of a CloudEvent, in which alone its id tells it from others (CloudEvents 1.0, `id`); `nil` in
    /// other envelopes. What its sender says, and no origin. Asked of readable arrivals only.
    package var eventSource: String? {
        let record = storage.records[Int(index)]
        guard record.envelope == .cloudEvents, record.aside != ArrivalRecord.none else { return nil }
        let event = BodyView(storage: storage, root: record.aside, position: record.aside)
        guard let source = event.member("source") else { return nil }
        return event.text(of: event.node(at: source))
    }

    /// A hash of what the action says: its name, its body byte for byte as it was sent, and the captures of a route that
    /// joined the body.
    ///
    /// What only surrounds the message, such as facts and the time, does not count. Nor does the order of captures: names
    /// differ, and a link's items may stand in any order.
    package func contentHash(_ hash: SeededHash) -> UInt64 {
        let node = Int(storage.records[Int(index)].body)
        let name = withNameBytes { hash.value(of: $0) }
        return storage.bytes.withUnsafeBytes { bytes in
            storage.nodes.withUnsafeBufferPointer { nodes in
                let body = hash.value(of: bytes[nodes[node].extent], after: name)
                return body &+ Arrival.captures(of: node, nodes, bytes, hash)
            }
        }
    }

    /// A sum over the captures that stand before an object's own members.
    private static func captures(
        of object: Int,
        _ nodes: UnsafeBufferPointer<BodyNode>,
        _ bytes: UnsafeRawBufferPointer,
        _ hash: SeededHash
    ) -> UInt64 {
        let end = Int(nodes[object].next)
        var sum: UInt64 = 0
        var key = object + 1
        guard nodes[object].is(.object), end != key else { return 0 }
        while nodes[key + 1].is(.routeText) {
            let name = hash.value(of: bytes[nodes[key].extent])
            sum &+= hash.value(of: bytes[nodes[key + 1].extent], after: name)
            // The last one leads to the members that the sender wrote, which lie elsewhere, or to the object's end.
            let next = Int(nodes[key + 1].next)
            guard next == key + 2, next != end else { break }
            key = next
        }
        return sum
    }
}

extension BodyNode {
    /// Where the value lies in the batch's bytes, the quotes of a string included.
    fileprivate var extent: Range<Int> { self.is(.string) ? firstByte..<end + 1 : Int(start)..<end }
}

extension UnsafeRawBufferPointer {
    fileprivate subscript(range: Range<Int>) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: self[range] as Slice<UnsafeRawBufferPointer>)
    }
}
