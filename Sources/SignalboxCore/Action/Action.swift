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

    /// What a payload of APNs says to the system (`alert`, `badge`, `content-available`), or `nil` of an action that came
    /// in another envelope. Paths of errors begin with `body`, which stands for `aps`.
    public var aps: Body? { aside(of: .apns) }

    /// The attributes of a CloudEvent (`source`, `type`, `time`, extensions), or `nil` of an action that came in another
    /// envelope. They are the sender's word; trust rests on ``origin`` alone. Paths of errors begin with `body`, which
    /// stands for the event.
    public var cloudEventAttributes: Body? { aside(of: .cloudEvents) }

    private func aside(of envelope: EnvelopeKind) -> Body? {
        let record = record
        guard record.envelope == envelope, record.aside != ArrivalRecord.none else { return nil }
        return Body(storage: storage, node: record.aside)
    }

    /// When the adapter received it, by the calendar.
    public var receivedAt: WallTime { record.receivedAt }

    /// When it is too late to begin, or `nil` when the sender set no limit.
    public var deadline: ContinuousClock.Instant? {
        let position = record.deadline
        return position == ArrivalRecord.none ? nil : storage.tables.deadlines[Int(position)]
    }
}
