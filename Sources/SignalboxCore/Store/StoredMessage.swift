/// A message as a ``MessageStore`` keeps it: its original bytes, and what is needed to read them again.
///
/// Nothing that was read from the bytes is trusted later. A ``RestoringAdapter`` reads them again with the routes, limits and
/// envelopes that its source has then.
public struct StoredMessage: Sendable {
    /// The source that the message came from.
    public var source: SourceName
    /// The kind of the facts about the sender, such as `push` (``OriginFacts/kind``).
    public var factsKind: String
    /// The facts about the sender, as JSON.
    public var facts: Bytes
    /// The action's name, or `nil` if the message could not be read.
    public var action: ActionName?
    /// The action's id, or `nil` if the message could not be read.
    public var id: ActionID?
    /// Whether the sender supplied ``id``.
    public var hasSenderID: Bool
    /// The envelope that the message was read with, even if that failed.
    public var envelope: EnvelopeKind
    /// What the body was read as. If the message could not be read, this is ``PayloadKind/json``.
    public var payload: PayloadKind
    /// When the message was received.
    public var receivedAt: WallTime
    /// The latest time at which the call to the plugin may begin, or `nil` if the sender set no limit.
    public var expiresAt: WallTime?
    /// The message as it was received.
    public var original: Bytes

    /// Creates a message from stored values.
    public init(
        source: SourceName,
        factsKind: String,
        facts: Bytes,
        action: ActionName?,
        id: ActionID?,
        hasSenderID: Bool,
        envelope: EnvelopeKind,
        payload: PayloadKind,
        receivedAt: WallTime,
        expiresAt: WallTime?,
        original: Bytes
    ) {
        self.source = source
        self.factsKind = factsKind
        self.facts = facts
        self.action = action
        self.id = id
        self.hasSenderID = hasSenderID
        self.envelope = envelope
        self.payload = payload
        self.receivedAt = receivedAt
        self.expiresAt = expiresAt
        self.original = original
    }
}

extension StoredMessage {
    /// Creates the stored form of an arrival. The bytes still refer to the arrival's batch.
    ///
    /// - Parameters:
    ///   - facts: The arrival's facts as JSON, as ``facts(of:)`` returns them.
    ///   - now: The current time of the system's wall clock.
    package init(_ arrival: Arrival, facts: Bytes, at now: WallTime) {
        let origin = arrival.origin
        let action = try? arrival.reading.get()
        self.init(
            source: origin.source,
            factsKind: type(of: origin.facts).kind,
            facts: facts,
            action: action?.name,
            id: action?.id,
            hasSenderID: action.map { $0.idKey != .assigned } ?? false,
            envelope: arrival.envelope,
            payload: action?.body.payloadKind ?? .json,
            receivedAt: arrival.receivedAt,
            expiresAt: action?.deadline.map { now.advanced(by: ContinuousClock.now.duration(to: $0)) },
            original: arrival.original
        )
    }

    /// Returns facts as JSON. Facts that cannot be encoded become `null`: a message must not be lost because of them.
    package static func facts(of facts: any OriginFacts) -> Bytes {
        (try? BodyWriter.write(facts)) ?? Bytes("null")
    }

    /// Returns the facts, or `nil` if they are of another kind or cannot be read.
    package func facts<Facts: OriginFacts & Decodable>(as type: Facts.Type) -> Facts? {
        guard factsKind == Facts.kind, let body = try? Body(json: facts) else { return nil }
        return try? body.decode(Facts.self)
    }

    /// Returns the deadline on the clock of this run of the program.
    ///
    /// - Parameter now: The current time of the system's wall clock.
    package func deadline(at now: WallTime) -> ContinuousClock.Instant? {
        expiresAt.map { .now + now.duration(to: $0) }
    }
}

extension WallTime {
    /// Returns the time from this point to another one. It is negative if the other point is earlier.
    package func duration(to other: WallTime) -> Duration {
        .seconds(other.seconds - seconds) + .nanoseconds(Int64(other.nanoseconds) - Int64(nanoseconds))
    }

    /// Returns the point in time that is a duration later, rounded down to nanoseconds. Beyond the range of a wall time, this is its
    /// last or first second.
    package func advanced(by duration: Duration) -> WallTime {
        let (seconds, attoseconds) = (duration + .nanoseconds(Int64(nanoseconds))).components
        let fraction = attoseconds / 1_000_000_000
        let (sum, isOver) = self.seconds.addingReportingOverflow(fraction < 0 ? seconds - 1 : seconds)
        let whole = isOver ? (seconds < 0 ? .min : .max) : sum
        return WallTime(seconds: whole, nanoseconds: UInt32(fraction < 0 ? fraction + 1_000_000_000 : fraction))
    }
}
