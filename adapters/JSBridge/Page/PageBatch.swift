import AdapterThreads
import SignalboxCore

/// A page's messages in the making: what every engine does with the text of one. Belongs to the thread that takes them.
struct PageBatch: ~Copyable {
    private let limits: MessageLimits
    private var batch: ArrivalBatch
    private var receivedAt = WallTime(seconds: 0)

    /// - Parameter pool: where the memory of batches comes from.
    init(limits: MessageLimits, pool: ArrivalPool = ArrivalPool()) {
        self.limits = limits
        batch = ArrivalBatch(pool: pool, limits: limits)
    }

    /// The number of messages, and the bytes of their originals.
    var count: Int { batch.count }
    var byteCount: Int { batch.byteCount }

    /// Appends a message.
    ///
    /// - Parameters:
    ///   - envelope: how it is read, or why it is not.
    ///   - timeout: how soon it must begin, in milliseconds from now, or 0.
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

    /// Appends a message that is over the limit, of which the beginning is kept.
    mutating func append(
        tooLong beginning: UnsafeRawBufferPointer,
        token: UInt64,
        origin: Origin,
        sender: (any Sender)?
    ) {
        let error = BodyError(.tooLarge, detail: "at most \(limits.bytes) bytes expected")
        reject(Outcome.Rejection(.malformed, error), beginning, token: token, origin: origin, sender: sender)
    }

    /// What was appended since the last call, in order.
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
