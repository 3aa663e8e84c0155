/// A message from any source, in a common form: a name to route by, an id, an origin and a body.
///
/// An action is a small immutable value that refers to its batch. Values in its body are decoded only when a plugin
/// asks for them.
public struct Action: Sendable {
    let arrival: Arrival
    private var storage: BatchStorage { arrival.storage }
    private var record: ArrivalRecord { arrival.record }

    /// The name used to route the action.
    public var name: ActionName {
        let record = record
        return ActionName(unchecked: Bytes(storage: storage, start: record.nameStart, length: record.nameLength))
    }

    /// The id supplied by the sender, or an id assigned by Signalbox if the sender supplied none.
    public var id: ActionID {
        let record = record
        guard record.idKey == .assigned else {
            return ActionID(unchecked: Bytes(storage: storage, start: record.idStart, length: record.idLength))
        }
        return storage.tables.assignedID(at: arrival.index)
    }

    /// How the sender supplied the id, so that a reply can use the same form.
    public var idKey: IDKey { record.idKey }

    /// The source, and the facts about the sender.
    public var origin: Origin { arrival.origin }

    /// The body from which the plugin's `Info` is decoded.
    public var body: Body { Body(storage: storage, node: record.body) }

    /// The `aps` object of an APNs payload (`alert`, `badge`, `content-available`), or `nil` for other envelopes.
    ///
    /// If decoding fails, the error's path begins with `body`, which here stands for `aps`.
    public var aps: Body? { metadata(of: .apns) }

    /// The attributes of a CloudEvent (`source`, `type`, `time`, extensions), or `nil` for other envelopes.
    ///
    /// The sender sets the attributes, so rely on ``origin`` alone for trust. If decoding fails, the error's path
    /// begins with `body`, which here stands for the event.
    public var cloudEventAttributes: Body? { metadata(of: .cloudEvents) }

    private func metadata(of envelope: EnvelopeKind) -> Body? {
        let record = record
        guard record.envelope == envelope, record.metadata != ArrivalRecord.none else { return nil }
        return Body(storage: storage, node: record.metadata)
    }

    /// The wall-clock time at which the adapter received the message.
    public var receivedAt: WallTime { record.receivedAt }

    /// The latest time at which the call to the plugin may begin, or `nil` if the sender set no limit.
    public var deadline: ContinuousClock.Instant? {
        let position = record.deadline
        return position == ArrivalRecord.none ? nil : storage.tables.deadlines[Int(position)]
    }
}

/// An action's id within its source, either supplied by the sender or assigned by Signalbox.
///
/// An id is any text of 1 to 128 UTF-8 bytes and may include control characters. Escape the text before you display it,
/// and never use it as a file name.
public struct ActionID: Sendable, Hashable {
    package let bytes: Bytes

    package init(unchecked bytes: Bytes) {
        self.bytes = bytes
    }

    /// The maximum length of an id in bytes.
    public static let maximumLength = 128

    /// Creates an id in code.
    ///
    /// - Returns: `nil` if the text is empty or longer than ``maximumLength`` bytes.
    public init?(_ text: String) {
        guard (1...ActionID.maximumLength).contains(text.utf8.count) else { return nil }
        bytes = Bytes(text)
    }

    /// Returns the same id in a separate allocation that does not keep the batch alive. Use this for an id that
    /// outlives its batch.
    public func copied() -> ActionID {
        ActionID(unchecked: bytes.copied())
    }

    /// The id as text.
    public var text: String { String(decoding: bytes, as: UTF8.self) }
}

extension ActionID: CustomStringConvertible {
    /// The id as text, without escapes.
    public var description: String { text }
}

/// How an action's id was supplied. Later versions may add more cases.
public struct IDKey: Sendable, Hashable, CustomStringConvertible {
    private enum Code: UInt8 { case assigned, id, uuid }
    private let code: Code

    /// The sender supplied no id, so Signalbox assigned one.
    public static let assigned = IDKey(code: .assigned)
    /// The sender supplied a member named `id`, or a route captured the id.
    public static let id = IDKey(code: .id)
    /// The sender supplied a member named `uuid`, which is an alternative name for `id`.
    public static let uuid = IDKey(code: .uuid)

    /// `assigned`, `id` or `uuid`.
    public var description: String { "\(code)" }
}

/// A point in calendar time: seconds and nanoseconds since 1970-01-01T00:00:00Z.
///
/// Use a wall time in records but not for timers, because a system's wall clock can jump. Adapters read the clock when
/// they receive a message; the core itself never does.
public struct WallTime: Sendable, Hashable, Comparable {
    /// The number of whole seconds since 1970. Negative for earlier times.
    public let seconds: Int64
    /// The fraction of a second in nanoseconds, from 0 to 999,999,999.
    public let nanoseconds: UInt32

    /// Creates a point in time.
    ///
    /// - Precondition: `nanoseconds` is below 1,000,000,000.
    public init(seconds: Int64, nanoseconds: UInt32 = 0) {
        precondition(nanoseconds < 1_000_000_000, "the nanoseconds of a WallTime must be below 1,000,000,000")
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }

    /// Returns whether `left` is earlier than `right`.
    public static func < (left: WallTime, right: WallTime) -> Bool {
        (left.seconds, left.nanoseconds) < (right.seconds, right.nanoseconds)
    }
}
