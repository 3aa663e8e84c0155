import AdapterSupport
import SignalboxCore

/// A builder of message batches that every page engine uses. Confined to the thread that collects the messages.
struct PageBatch: ~Copyable {
    private let limits: MessageLimits
    private var batch: ArrivalBatch
    private var receivedAt = WallTime(seconds: 0)

    /// - Parameter pool: The pool that supplies the memory of batches.
    init(limits: MessageLimits, pool: ArrivalPool = ArrivalPool()) {
        self.limits = limits
        batch = ArrivalBatch(pool: pool, limits: limits)
    }

    /// The number of messages, and the size of their originals in bytes.
    var count: Int { batch.count }
    var byteCount: Int { batch.byteCount }

    /// Appends a message.
    ///
    /// - Parameters:
    ///   - envelope: The envelope with which to read the message, or the reason to reject it.
    ///   - timeout: The deadline for its start, in milliseconds from the call, or 0 for none.
    mutating func append(
        _ json: UnsafeRawBufferPointer,
        as envelope: Result<Envelope, Outcome.Rejection>,
        token: UInt64,
        origin: Origin,
        sender: (any Sender)?,
        timeout: Double
    ) {
        switch envelope {
        case .success(let envelope):
            if batch.count == 0 { receivedAt = .now() }
            batch.append(
                json,
                token: token,
                origin: origin,
                sender: sender,
                receivedAt: receivedAt,
                deadline: timeout > 0 ? ContinuousClock.now + .milliseconds(min(timeout, 1e15)) : nil,
                envelope: envelope
            )
        case .failure(let rejection):
            reject(rejection, json, token: token, origin: origin, sender: sender)
        }
    }

    /// Appends a message that exceeds the size limit, as a rejection with its beginning.
    mutating func append(
        tooLong beginning: UnsafeRawBufferPointer,
        token: UInt64,
        origin: Origin,
        sender: (any Sender)?
    ) {
        let error = BodyError(.tooLarge, detail: "expected at most \(limits.bytes) bytes")
        reject(Outcome.Rejection(.malformed, error), beginning, token: token, origin: origin, sender: sender)
    }

    /// Returns the messages appended since the last call, in order.
    mutating func take() -> [Arrival] {
        batch.take()
    }

    private mutating func reject(
        _ rejection: Outcome.Rejection,
        _ original: UnsafeRawBufferPointer,
        token: UInt64,
        origin: Origin,
        sender: (any Sender)?
    ) {
        if batch.count == 0 { receivedAt = .now() }
        batch.append(
            rejected: rejection,
            original: original,
            token: token,
            origin: origin,
            sender: sender,
            receivedAt: receivedAt
        )
    }
}
