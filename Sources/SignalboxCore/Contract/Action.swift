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

/// What tells one action of a source from another: the sender's own id, else one that Signalbox assigned.
///
/// Any text of 1 to 128 bytes of UTF-8, control characters included: escape it before it is shown, and never use it as
/// a file name.
public struct ActionID: Sendable, Hashable {
    package let bytes: Bytes

    package init(unchecked bytes: Bytes) {
        self.bytes = bytes
    }

    /// The most bytes an id may have.
    public static let maximumLength = 128

    /// An id made in the program.
    ///
    /// - Returns: `nil` when the text is empty or longer than ``maximumLength`` bytes.
    public init?(_ text: String) {
        guard (1...ActionID.maximumLength).contains(text.utf8.count) else { return nil }
        bytes = Bytes(text)
    }

    /// The same id in memory of its own, for whoever keeps it longer than the batch it came in.
    public func copied() -> ActionID {
        ActionID(unchecked: bytes.copied())
    }

    /// The id as text.
    public var text: String { String(decoding: bytes, as: UTF8.self) }
}

extension ActionID: CustomStringConvertible {
    /// The id as text, not escaped.
    public var description: String { text }
}

/// How an action's id came. The ways; more may be added.
public struct IDKey: Sendable, Hashable, CustomStringConvertible {
    private enum Code: UInt8 { case assigned, id, uuid }
    private let code: Code

    /// The sender gave none; Signalbox assigned one.
    public static let assigned = IDKey(code: .assigned)
    /// The member `id`, or a route's capture of that name.
    public static let id = IDKey(code: .id)
    /// The member `uuid`, an accepted other name for `id`.
    public static let uuid = IDKey(code: .uuid)

    /// `assigned`, `id` or `uuid`.
    public var description: String { "\(code)" }
}

/// A point in calendar time, for records and never for waiting: seconds and nanoseconds since 1970-01-01T00:00:00Z.
///
/// The adapter that received something reads the clock; the core reads none.
public struct WallTime: Sendable, Hashable, Comparable {
    /// Whole seconds since 1970, negative before it.
    public let seconds: Int64
    /// The rest, 0 to 999,999,999.
    public let nanoseconds: UInt32

    /// - Precondition: `nanoseconds` is below 1,000,000,000.
    public init(seconds: Int64, nanoseconds: UInt32 = 0) {
        precondition(nanoseconds < 1_000_000_000, "nanoseconds of a WallTime are below 1,000,000,000")
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }

    /// Earlier is less.
    public static func < (left: WallTime, right: WallTime) -> Bool {
        (left.seconds, left.nanoseconds) < (right.seconds, right.nanoseconds)
    }
}
