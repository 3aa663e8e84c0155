/// What every source is turned into: a name to route by, an id, where it came from, and a body.
///
/// A small immutable value over the batch it arrived in. The body is decoded when a plugin asks for it.
public struct Action: Sendable {
    package let storage: BatchStorage
    package let index: UInt32

    package init(storage: BatchStorage, index: UInt32) {
        self.storage = storage
        self.index = index
    }

    package var record: ArrivalRecord { storage.records[Int(index)] }

    /// What the action is routed by.
    public var name: ActionName {
        let record = record
        return ActionName(unchecked: Bytes(storage: storage, start: record.nameStart, length: record.nameLength))
    }

    /// The sender's id, or the one assigned when it sent none.
    public var id: ActionID {
        let record = record
        guard record.idKey == .assigned else {
            return ActionID(unchecked: Bytes(storage: storage, start: record.idStart, length: record.idLength))
        }
        return storage.tables.assignedID(at: index)
    }

    /// How the sender named its id, so that an answer names it alike.
    public var idKey: IDKey { record.idKey }

    /// The source and its facts.
    public var origin: Origin { storage.tables.origins[Int(record.origin)] }

    /// What the plugin's `Info` is made from.
    public var body: Body { Body(storage: storage, node: record.body) }

    /// When the adapter received it, by the calendar.
    public var receivedAt: WallTime { record.receivedAt }

    /// When it is too late to begin, or `nil` when the sender set no limit.
    public var deadline: ContinuousClock.Instant? {
        let position = record.deadline
        return position == ArrivalRecord.none ? nil : storage.tables.deadlines[Int(position)]
    }
}
