import AdapterSupport
package import SignalboxCore

/// Collects messages into batches, for every page engine. It is confined to the thread that collects the messages.
package struct PageBatch: ~Copyable {
    private let limits: MessageLimits
    private var batch: ArrivalBatch
    private var receivedAt = WallTime(seconds: 0)

    /// - Parameter pool: The pool that supplies memory for batches.
    package init(limits: MessageLimits, pool: ArrivalPool = ArrivalPool()) {
        self.limits = limits
        batch = ArrivalBatch(pool: pool, limits: limits)
    }

    /// The number of messages in the batch.
    package var count: Int { batch.count }
    /// The total size of the original texts of these messages, in bytes.
    package var byteCount: Int { batch.byteCount }

    /// The rejection for a message that exceeds the size limit. The caller appends it together with the beginning of
    /// the message.
    package var tooLong: Result<Envelope, Outcome.Rejection> {
        let error = BodyError(.tooLarge, detail: "expected at most \(limits.bytes) bytes")
        return .failure(Outcome.Rejection(.malformed, error))
    }

    /// Appends a message.
    ///
    /// - Parameters:
    ///   - envelope: The envelope with which to read the message, or the reason to reject the message.
    ///   - timeout: The time within which the message must start, in milliseconds from the call, or 0 for no limit.
    ///   - received: The time of receipt, or `nil` to use the first message's time of receipt.
    package mutating func append(
        _ json: UnsafeRawBufferPointer,
        as envelope: Result<Envelope, Outcome.Rejection>,
        token: UInt64,
        origin: Origin,
        sender: (any Sender)?,
        timeout: Double = 0,
        received: WallTime? = nil
    ) {
        if batch.count == 0 { receivedAt = .now() }
        switch envelope {
        case .success(let envelope):
            batch.append(
                json,
                token: token,
                origin: origin,
                sender: sender,
                receivedAt: received ?? receivedAt,
                deadline: timeout > 0 ? ContinuousClock.now + .milliseconds(min(timeout, 1e15)) : nil,
                envelope: envelope
            )
        case .failure(let rejection):
            batch.append(
                rejected: rejection,
                original: json,
                token: token,
                origin: origin,
                sender: sender,
                receivedAt: received ?? receivedAt
            )
        }
    }

    /// Returns the messages appended since the last call, in order.
    package mutating func take() -> [Arrival] {
        batch.take()
    }
}

// MARK: - Stored messages

extension PageBatch {
    /// Reads stored messages of a page again, with the envelopes that they arrived with. They have no sender, because their
    /// page has ended.
    ///
    /// - Parameters:
    ///   - source: The source of the messages.
    ///   - limits: The current limits.
    ///   - now: The current time of the system's wall clock.
    package static func restoring(
        _ messages: [StoredMessage],
        of source: SourceName,
        limits: MessageLimits,
        at now: WallTime
    ) -> [Arrival] {
        var batch = ArrivalBatch(pool: ArrivalPool(), limits: limits)
        var origins = StoredOrigins<ScriptFacts>(source: source)
        for (position, message) in messages.enumerated() {
            let token = UInt64(position)
            guard let facts = message.facts(as: ScriptFacts.self) else {
                batch.append(unreadable: message, token: token)
                continue
            }
            let origin = origins.origin(of: facts)
            guard let envelope = envelope(of: message) else {
                batch.append(unreadable: message, token: token, because: StoredMessage.wasUnreadable, origin: origin)
                continue
            }
            message.original.withUnsafeBytes { original in
                batch.append(
                    original,
                    token: token,
                    origin: origin,
                    receivedAt: message.receivedAt,
                    deadline: message.deadline(at: now),
                    envelope: envelope
                )
            }
        }
        return batch.take(keepingIDsOf: messages)
    }

    /// Returns the envelope with which to read a message again, or `nil` if it cannot be read. The name of a handler is
    /// stored only as the name of the action.
    private static func envelope(of message: StoredMessage) -> Envelope? {
        switch message.envelope {
        case .standard: .standard
        case .handler: message.action.map { .handler($0) }
        default: nil
        }
    }
}
