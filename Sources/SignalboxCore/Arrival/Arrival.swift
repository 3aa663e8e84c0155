/// One message as an adapter hands it over: where it came from, its original bytes, and what was read from them.
///
/// Unreadable messages are arrivals too. A value of 16 bytes over the batch it was made in by ``ArrivalBatch``.
public struct Arrival: Sendable {
    package let storage: BatchStorage
    package let index: UInt32

    package init(storage: BatchStorage, index: UInt32) {
        self.storage = storage
        self.index = index
    }

    package var record: ArrivalRecord { storage.records[Int(index)] }

    /// The adapter's own mark, given back when the arrival is settled.
    public var token: UInt64 { storage.records[Int(index)].token }

    /// The source and its facts.
    public var origin: Origin { storage.tables.origins[Int(storage.records[Int(index)].origin)] }

    /// The message as it came, kept for the dead letter.
    public var original: Bytes {
        let record = record
        return Bytes(storage: storage, start: record.originalStart, length: record.originalLength)
    }

    /// The number of bytes of ``original``.
    public var originalLength: Int { Int(storage.records[Int(index)].originalLength) }

    /// The way back to whoever sent it, or `nil` when this source cannot be spoken to unasked.
    public var sender: (any Sender)? {
        let position = record.sender
        return position == ArrivalRecord.none ? nil : storage.tables.senders[Int(position)]
    }

    /// When the adapter received it, by the calendar.
    public var receivedAt: WallTime { record.receivedAt }

    /// Which envelope it was read by, or tried with.
    public var envelope: EnvelopeKind { storage.records[Int(index)].envelope }

    /// The action, or why the message could not be read as one.
    public var reading: Result<Action, Outcome.Rejection> {
        let position = record.rejection
        guard position == ArrivalRecord.none else { return .failure(storage.tables.rejections[Int(position)]) }
        return .success(Action(storage: storage, index: index))
    }

    /// Whether ``reading`` is an action, without making it.
    package var isReadable: Bool { storage.records[Int(index)].rejection == ArrivalRecord.none }

    /// Whether two arrivals share batch and origin, without counting a reference.
    package func hasOrigin(of other: Arrival) -> Bool {
        storage === other.storage
            && storage.records[Int(index)].origin == storage.records[Int(other.index)].origin
    }

    /// How far behind the first of `range` the arrivals go that share batch, origin and name with it and are readable:
    /// what decides about the first decides about them all.
    ///
    /// - Precondition: `range` is not empty, and its first arrival is readable.
    package static func endOfAlike(_ arrivals: [Arrival], in range: Range<Int>) -> Int {
        let first = arrivals[range.lowerBound]
        return first.storage.bytes.withUnsafeBytes { bytes in
            first.storage.records.withUnsafeBufferPointer { records in
                let wanted = records[Int(first.index)]
                let name = bytes[name: wanted]
                var end = range.lowerBound + 1
                while end < range.upperBound, arrivals[end].storage === first.storage {
                    let record = records[Int(arrivals[end].index)]
                    guard record.origin == wanted.origin, record.rejection == ArrivalRecord.none,
                        ByteComparison.areEqual(bytes[name: record], name)
                    else { break }
                    end += 1
                }
                return end
            }
        }
    }

    /// The bytes of the action's name where they lie, for looking it up without counting a reference.
    package func withNameBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        let start = Int(storage.records[Int(index)].nameStart)
        let length = Int(storage.records[Int(index)].nameLength)
        return storage.bytes.withUnsafeBytes { whole in
            body(UnsafeRawBufferPointer(rebasing: whole[start..<start + length]))
        }
    }

    /// Whether the action has a deadline, without reading it.
    package var hasDeadline: Bool { storage.records[Int(index)].deadline != ArrivalRecord.none }

    /// The action without a look at whether it could be read: for whoever has checked ``reading`` before.
    package var uncheckedAction: Action { Action(storage: storage, index: index) }
}

extension UnsafeRawBufferPointer {
    fileprivate subscript(name record: ArrivalRecord) -> UnsafeRawBufferPointer {
        let start = Int(record.nameStart)
        return UnsafeRawBufferPointer(rebasing: self[start..<start + Int(record.nameLength)])
    }
}

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
