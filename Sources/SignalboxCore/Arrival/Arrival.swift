/// A message as an adapter submits it: its origin, its original bytes, and the result of parsing them.
///
/// A message that cannot be parsed is also an arrival, so it is counted and has an outcome like any other message.
/// Adapters build arrivals with an ``ArrivalBatch``. An arrival is a 16-byte value that refers to its batch and keeps
/// the batch alive.
public struct Arrival: Sendable {
    package let storage: BatchStorage
    package internal(set) var index: UInt32

    /// Whether the arrival was accepted before, in this or an earlier run of the program, and is dispatched again from the
    /// journal of its source or from its dead letters. A broker's own redeliveries do not count.
    public package(set) var isRedelivered = false

    package var record: ArrivalRecord { storage.records[Int(index)] }

    /// The number by which the adapter identifies the arrival. Signalbox passes this number back when it settles the
    /// arrival.
    public var token: UInt64 { storage.records[Int(index)].token }

    /// The source, and the facts that the adapter established about the sender.
    public var origin: Origin { storage.tables.origins[Int(storage.records[Int(index)].origin)] }

    /// The bytes of the original message, which are kept in case the message becomes a dead letter.
    public var original: Bytes {
        let record = record
        return Bytes(storage: storage, start: record.originalStart, length: record.originalLength)
    }

    /// The size of ``original`` in bytes.
    public var originalLength: Int { Int(storage.records[Int(index)].originalLength) }

    /// The number of items of the message that cannot be read, such as query items of a link. If the message has a body,
    /// the body lacks them. The adapter counts at most 65,535.
    public var unreadableItems: Int { Int(storage.records[Int(index)].unreadableItems) }

    /// A channel to the sender, or `nil` if the source cannot send unsolicited messages.
    public var sender: (any Sender)? {
        let position = record.sender
        return position == ArrivalRecord.none ? nil : storage.tables.senders[Int(position)]
    }

    /// The wall-clock time at which the adapter received the message.
    public var receivedAt: WallTime { record.receivedAt }

    /// The envelope used to parse the message, even if parsing failed.
    public var envelope: EnvelopeKind { storage.records[Int(index)].envelope }

    /// The action, or the reason why the message is not an action.
    public var reading: Result<Action, Outcome.Rejection> {
        let position = record.rejection
        guard position == ArrivalRecord.none else { return .failure(storage.tables.rejections[Int(position)]) }
        return .success(Action(arrival: self))
    }

    /// Whether ``reading`` is an action. This property is cheaper than ``reading``, because it does not create the
    /// action.
    package var isReadable: Bool { storage.records[Int(index)].rejection == ArrivalRecord.none }

    /// Returns whether two arrivals belong to the same batch and have the same origin. This method retains nothing.
    package func hasOrigin(of other: Arrival) -> Bool {
        storage === other.storage
            && storage.records[Int(index)].origin == storage.records[Int(other.index)].origin
    }

    /// Returns where a run of similar arrivals ends: readable arrivals with the same batch, origin and name as the
    /// first arrival in `range`. A routing decision for that first arrival applies to the whole run.
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

    /// Calls `body` with the bytes of the action's name, without copying or retaining them.
    package func withNameBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        storage.bytes.withUnsafeBytes { body($0[name: storage.records[Int(index)]]) }
    }

    /// Whether the action has a deadline. Reading this property does not create the action.
    package var hasDeadline: Bool { storage.records[Int(index)].deadline != ArrivalRecord.none }

    /// The action of a readable arrival. The caller must already have checked ``reading``.
    package var uncheckedAction: Action { Action(arrival: self) }
}

extension Arrival {
    /// Returns whether both values refer to the same arrival in the same batch.
    package func isSame(as other: Arrival) -> Bool { identity == other.identity }

    /// The arrival's identity, which keeps nothing in memory.
    package var identity: ArrivalIdentity { ArrivalIdentity(storage: .passUnretained(storage), index: index) }

    /// Whether any arrival in the batch has a deadline.
    package var batchHasDeadlines: Bool { !storage.tables.deadlines.isEmpty }
}

/// Tells an arrival from all others that are in memory. Once the arrival's batch is freed, another arrival may get the same
/// identity.
package struct ArrivalIdentity: Sendable, Equatable {
    fileprivate let storage: Unmanaged<BatchStorage>
    fileprivate let index: UInt32

    package static func == (left: Self, right: Self) -> Bool {
        left.storage.toOpaque() == right.storage.toOpaque() && left.index == right.index
    }
}

extension UnsafeRawBufferPointer {
    subscript(name record: ArrivalRecord) -> UnsafeRawBufferPointer {
        let start = Int(record.nameStart)
        return self[start..<start + Int(record.nameLength)]
    }

    subscript(id record: ArrivalRecord) -> UnsafeRawBufferPointer {
        let start = Int(record.idStart)
        return self[start..<start + Int(record.idLength)]
    }

    subscript(range: Range<Int>) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: self[range] as Slice<UnsafeRawBufferPointer>)
    }
}
