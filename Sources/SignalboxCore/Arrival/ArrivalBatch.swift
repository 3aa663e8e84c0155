import Synchronization

/// Builds the arrivals that an adapter submits.
///
/// An adapter appends each message as it receives it, then takes the resulting arrivals and submits them together:
///
/// ```swift
/// var batch = ArrivalBatch(pool: pool)
/// batch.append(bytes, token: 1, origin: origin, receivedAt: now)
/// let accepted = intake.submit(batch.take(), to: sink)
/// ```
///
/// Instead of allocating memory separately, the arrivals in a batch share one byte buffer and one index. Use a batch
/// from one thread only.
public struct ArrivalBatch: ~Copyable {
    private let pool: ArrivalPool
    private let limits: MessageLimits
    private let idPrefix = UInt64.random(in: .min ... .max)
    private var buffers: BatchBuffers
    private var tables: ArrivalTables
    private var serial: UInt64 = 0

    /// Creates an empty batch.
    ///
    /// - Parameters:
    ///   - pool: The pool that supplies the buffers. The buffers return to the pool when the last value that refers to
    ///     the batch is released.
    ///   - limits: The limits for each message.
    public init(pool: ArrivalPool, limits: MessageLimits = MessageLimits()) {
        self.pool = pool
        self.limits = limits
        buffers = pool.take()
        tables = ArrivalTables()
    }

    /// The number of arrivals appended since the last ``take()``.
    public var count: Int { buffers.records.count }

    /// The total size in bytes of the original messages appended since the last ``take()``.
    public private(set) var byteCount = 0

    /// Parses a message and appends it. A message that cannot be parsed is appended as a rejected arrival.
    ///
    /// - Parameters:
    ///   - original: The bytes of the message, which are copied before the call returns.
    ///   - token: The number by which the adapter identifies the arrival when it is settled.
    ///   - origin: The source, and the facts about the sender.
    ///   - sender: A channel to the sender, if there is one.
    ///   - receivedAt: The wall-clock time at which the adapter received the message.
    ///   - deadline: The latest time at which the call to the plugin may begin, if the sender set such a limit.
    ///   - envelope: The rules for finding the name, the id and the body.
    ///   - payload: The kind of payload, which matters only if a route names the action. Payloads in other envelopes
    ///     are always JSON.
    /// - Precondition: The batch stays below 4 GiB.
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
        var record = begin(original, token: token, origin: origin, sender: sender, receivedAt: receivedAt)
        record.envelope = envelope.kind
        if let deadline { record.deadline = tables.position(of: deadline) }
        let mark = buffers.mark
        do throws(BodyError) {
            guard original.count <= limits.bytes else {
                throw BodyError(.tooLarge, detail: "expected at most \(limits.bytes) bytes")
            }
            let reader = EnvelopeReader(start: Int(record.originalStart), depth: limits.depth)
            try reader.read(envelope, payload, from: &buffers, into: &record)
        } catch {
            buffers.rollBack(to: mark)
            record.setName(0, length: 0)
            record.setID(0, length: 0, key: .assigned)
            record.metadata = ArrivalRecord.none
            record.rejection = tables.append(Outcome.Rejection(.malformed, error))
        }
        buffers.records.append(record)
    }

    /// Appends a message that the adapter itself could not read. The message is counted and rejected like any other
    /// message that cannot be parsed.
    public mutating func append(
        rejected rejection: Outcome.Rejection,
        original: UnsafeRawBufferPointer,
        token: UInt64,
        origin: Origin,
        sender: (any Sender)? = nil,
        receivedAt: WallTime
    ) {
        var record = begin(original, token: token, origin: origin, sender: sender, receivedAt: receivedAt)
        record.rejection = tables.append(rejection)
        buffers.records.append(record)
    }

    /// Records how many items of the message that was appended last cannot be read, for ``Arrival/unreadableItems``.
    ///
    /// Use this method if the format allows you to leave out single items, so that an outcome and the counts of the
    /// source show that something is missing. A number beyond 65,535 counts as 65,535.
    ///
    /// - Precondition: A message has been appended since the last ``take()``.
    public mutating func setUnreadableItems(_ count: Int) {
        precondition(
            !buffers.records.isEmpty,
            "setUnreadableItems was called for an empty batch; append a message first"
        )
        buffers.records[buffers.records.count - 1].unreadableItems = UInt16(clamping: count)
    }

    private mutating func begin(
        _ original: UnsafeRawBufferPointer,
        token: UInt64,
        origin: Origin,
        sender: (any Sender)?,
        receivedAt: WallTime
    ) -> ArrivalRecord {
        var record = ArrivalRecord(token: token, receivedAt: receivedAt, origin: tables.position(of: origin))
        record.originalStart = UInt32(buffers.append(original))
        record.originalLength = UInt32(original.count)
        if let sender { record.sender = tables.position(of: sender) }
        byteCount += original.count
        return record
    }

    /// Returns the arrivals of restored messages, as ``take()`` does. A message whose sender gave no id keeps the id that it was
    /// assigned when it came, by which a plugin can recognize it.
    ///
    /// - Parameter messages: The messages, of which each was appended in this order since the last call.
    public mutating func take(keepingIDsOf messages: [StoredMessage]) -> [Arrival] {
        tables.keptIDs = messages.map { $0.hasSenderID ? nil : $0.id }
        return take()
    }

    /// Returns the arrivals appended since the last call, in order, and empties the batch so that you can reuse it.
    public mutating func take() -> [Arrival] {
        let count = buffers.records.count
        guard count > 0 else { return [] }
        var taken = pool.take()
        swap(&taken, &buffers)
        tables.idPrefix = idPrefix
        tables.firstSerial = serial
        let storage = BatchStorage(buffers: taken, tables: tables, pool: pool)
        serial += UInt64(count)
        tables = ArrivalTables()
        byteCount = 0
        return (0..<count).map { Arrival(storage: storage, index: UInt32($0)) }
    }
}

/// Reuses the buffers of released batches, so that a steady stream of messages allocates no memory.
///
/// The pool keeps at most `maximumKept` sets of buffers, none larger than `maximumBytes`, and frees the rest. You can
/// use a pool from any thread.
public final class ArrivalPool: Sendable {
    private let kept = Mutex<[BatchBuffers]>([])
    private let maximumKept: Int
    private let maximumBytes: Int

    /// Creates an empty pool.
    ///
    /// - Parameters:
    ///   - maximumKept: The maximum number of buffer sets to keep. Must be at least 0.
    ///   - maximumBytes: The maximum memory size, in bytes, of a buffer set to keep.
    public init(maximumKept: Int = 4, maximumBytes: Int = 4 * 1024 * 1024) {
        self.maximumKept = maximumKept
        self.maximumBytes = maximumBytes
    }

    package func take() -> BatchBuffers {
        guard var buffers = kept.withLock({ $0.popLast() }) else { return BatchBuffers() }
        buffers.clear()
        return buffers
    }

    func recycle(_ buffers: consuming BatchBuffers) {
        guard buffers.footprint <= maximumBytes else { return }
        let returned = buffers
        kept.withLock { kept in
            if kept.count < maximumKept { kept.append(returned) }
        }
    }
}
