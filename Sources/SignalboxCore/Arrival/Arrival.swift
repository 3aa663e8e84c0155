/// A message as an adapter submits it: its origin, its original bytes, and the result of parsing them.
///
/// Unreadable messages are arrivals too. A 16-byte value that refers to its batch, built by ``ArrivalBatch``.
public struct Arrival: Sendable {
    package let storage: BatchStorage
    package let index: UInt32

    package var record: ArrivalRecord { storage.records[Int(index)] }

    /// The adapter's own token, returned when the arrival is settled.
    public var token: UInt64 { storage.records[Int(index)].token }

    /// The source and its facts.
    public var origin: Origin { storage.tables.origins[Int(storage.records[Int(index)].origin)] }

    /// The original message, kept for the dead letter.
    public var original: Bytes {
        let record = record
        return Bytes(storage: storage, start: record.originalStart, length: record.originalLength)
    }

    /// The size of ``original`` in bytes.
    public var originalLength: Int { Int(storage.records[Int(index)].originalLength) }

    /// A channel to the arrival's sender, or `nil` when the source cannot send unsolicited messages.
    public var sender: (any Sender)? {
        let position = record.sender
        return position == ArrivalRecord.none ? nil : storage.tables.senders[Int(position)]
    }

    /// The wall-clock time at which the adapter received the message.
    public var receivedAt: WallTime { record.receivedAt }

    /// The envelope by which the message was parsed, even if parsing failed.
    public var envelope: EnvelopeKind { storage.records[Int(index)].envelope }

    /// The action, or the reason why the message is not one.
    public var reading: Result<Action, Outcome.Rejection> {
        let position = record.rejection
        guard position == ArrivalRecord.none else { return .failure(storage.tables.rejections[Int(position)]) }
        return .success(Action(arrival: self))
    }

    /// Whether ``reading`` is an action. Avoids creating it.
    package var isReadable: Bool { storage.records[Int(index)].rejection == ArrivalRecord.none }

    /// Returns whether two arrivals share batch and origin. Retains nothing.
    package func hasOrigin(of other: Arrival) -> Bool {
        storage === other.storage
            && storage.records[Int(index)].origin == storage.records[Int(other.index)].origin
    }

    /// Returns the end of the run of readable arrivals that share batch, origin and name with the first of `range`. A
    /// routing decision for the first applies to all of them.
    ///
    /// - Precondition: `range` is not empty, and its first arrival is readable.
    package static func endOfMatchingRun(_ arrivals: [Arrival], in range: Range<Int>) -> Int {
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

    /// Calls `body` with the action's name in place. Retains nothing.
    package func withNameBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        storage.bytes.withUnsafeBytes { body($0[name: storage.records[Int(index)]]) }
    }

    /// Whether the action has a deadline. Avoids creating the action.
    package var hasDeadline: Bool { storage.records[Int(index)].deadline != ArrivalRecord.none }

    /// The action, without checking that the arrival is readable. The caller has checked ``reading``.
    package var uncheckedAction: Action { Action(arrival: self) }
}

extension Arrival {
    /// Returns whether both values are the same arrival of the same batch.
    package func isSame(as other: Arrival) -> Bool {
        storage === other.storage && index == other.index
    }

    /// Whether any arrival of the batch has a deadline.
    package var batchHasDeadlines: Bool { !storage.tables.deadlines.isEmpty }

    /// Whether the sender supplied an id. Valid only for a readable arrival.
    package var hasSenderID: Bool { storage.records[Int(index)].idKey != .assigned }

    /// Calls `body` with the sender's id in place. The bytes are empty without an id.
    package func withIDBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        let start = Int(storage.records[Int(index)].idStart)
        let length = Int(storage.records[Int(index)].idLength)
        return storage.bytes.withUnsafeBytes { whole in
            body(UnsafeRawBufferPointer(rebasing: whole[start..<start + length]))
        }
    }

    /// The `source` attribute of a CloudEvent, within which its id is unique (CloudEvents 1.0, `id`); `nil` for other
    /// envelopes. The sender sets it, so it is not an origin. Valid only for a readable arrival.
    package var eventSource: String? {
        let record = storage.records[Int(index)]
        guard record.envelope == .cloudEvents, record.metadata != ArrivalRecord.none else { return nil }
        let event = BodyView(storage: storage, root: record.metadata, position: record.metadata)
        guard let source = event.member("source") else { return nil }
        return event.text(of: event.node(at: source))
    }

    /// Returns a hash of the action's name, the body's bytes as sent, and the route captures added to the body.
    ///
    /// Metadata such as facts and time is excluded. The order of captures does not matter: names are unique, and a
    /// link's query items may be in any order.
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

    /// Returns a sum over the captures that precede an object's own members.
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
            // The last capture leads to the sender's members, stored elsewhere, or to the object's end.
            let next = Int(nodes[key + 1].next)
            guard next == key + 2, next != end else { break }
            key = next
        }
        return sum
    }
}

extension BodyNode {
    /// The value's range in the batch's bytes, including the quotes of a string.
    fileprivate var extent: Range<Int> { self.is(.string) ? firstByte..<end + 1 : Int(start)..<end }
}

extension UnsafeRawBufferPointer {
    fileprivate subscript(name record: ArrivalRecord) -> UnsafeRawBufferPointer {
        let start = Int(record.nameStart)
        return self[start..<start + Int(record.nameLength)]
    }

    fileprivate subscript(range: Range<Int>) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: self[range] as Slice<UnsafeRawBufferPointer>)
    }
}
