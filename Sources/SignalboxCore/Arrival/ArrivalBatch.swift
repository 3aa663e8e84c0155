/// Arrivals in the making: an adapter appends messages as they come and takes the batch when it submits.
///
/// One thread owns it. All arrivals of a batch share one buffer of bytes and one index, so a message costs no
/// allocation of its own.
public struct ArrivalBatch: ~Copyable {
    /// - Parameters:
    ///   - pool: where buffers come from and go back to when the batch's last range is released.
    ///   - limits: the bounds of one message.
    public init(pool: ArrivalPool, limits: MessageLimits = MessageLimits()) {
        fatalError("TODO json")
    }

    /// The number of arrivals appended since the last ``take()``.
    public var count: Int { fatalError("TODO json") }

    /// The number of bytes of their originals.
    public var byteCount: Int { fatalError("TODO json") }

    /// Reads a message and appends it; a message that cannot be read is appended as a rejected arrival.
    ///
    /// - Parameters:
    ///   - original: the message's bytes, copied before the call returns.
    ///   - token: the adapter's own mark, given back when the arrival is settled.
    ///   - origin: the source and its facts.
    ///   - sender: the way back, where there is one.
    ///   - receivedAt: when it was received.
    ///   - deadline: when it is too late to begin, where the sender set a limit.
    ///   - envelope: how name, id and body are found.
    ///   - payload: what the body's bytes are.
    public mutating func append(
        _ original: UnsafeRawBufferPointer,
        token: UInt64,
        origin: Origin,
        sender: (any Sender)? = nil,
        receivedAt: WallTime,
        deadline: ContinuousClock.Instant? = nil,
        envelope: Envelope = .standard,
        payload: PayloadKind = .json
    ) {
        fatalError("TODO json")
    }

    /// Appends a message that the adapter itself found unreadable.
    public mutating func append(
        rejected rejection: Outcome.Rejection,
        original: UnsafeRawBufferPointer,
        token: UInt64,
        origin: Origin,
        sender: (any Sender)? = nil,
        receivedAt: WallTime
    ) {
        fatalError("TODO json")
    }

    /// The arrivals appended since the last call, in order; the batch is empty afterwards and can be filled again.
    public mutating func take() -> [Arrival] {
        fatalError("TODO json")
    }
}
