import Synchronization

/// Arrivals in the making: an adapter appends messages as they come and takes the batch when it submits.
///
/// One thread owns it. All arrivals of a batch share one buffer of bytes and one index, so a message costs no
/// allocation of its own.
public struct ArrivalBatch: ~Copyable {
    private let pool: ArrivalPool
    let limits: MessageLimits
    private let idPrefix = UInt64.random(in: .min ... .max)
    private var buffers: BatchBuffers
    private var tables: ArrivalTables
    private var serial: UInt64 = 0

    /// - Parameters:
    ///   - pool: where buffers come from and go back to when the batch's last range is released.
    ///   - limits: the bounds of one message.
    public init(pool: ArrivalPool, limits: MessageLimits = MessageLimits()) {
        self.pool = pool
        self.limits = limits
        buffers = pool.take()
        tables = ArrivalTables()
    }

    /// The number of arrivals appended since the last ``take()``.
    public var count: Int { buffers.records.count }

    /// The number of bytes of their originals.
    public private(set) var byteCount = 0

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
    ///   - payload: what the body's bytes are, where a route names the action; an envelope is JSON always.
    /// - Precondition: the batch stays below 4 GiB.
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
                throw BodyError(.tooLarge, detail: "at most \(limits.bytes) bytes expected")
            }
            let reader = EnvelopeReader(start: Int(record.originalStart), depth: limits.depth)
            try reader.read(envelope, payload, from: &buffers, into: &record)
        } catch {
            buffers.rollBack(to: mark)
            record.setName(0, length: 0)
            record.setID(0, length: 0, key: .assigned)
            record.aside = ArrivalRecord.none
            record.rejection = tables.append(Outcome.Rejection(.malformed, error))
        }
        buffers.records.append(record)
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
        append(
            rejected: rejection,
            envelope: .none,
            original: original,
            token: token,
            origin: origin,
            sender: sender,
            receivedAt: receivedAt
        )
    }

    mutating func append(
        rejected rejection: Outcome.Rejection,
        envelope: EnvelopeKind,
        original: UnsafeRawBufferPointer,
        token: UInt64,
        origin: Origin,
        sender: (any Sender)?,
        receivedAt: WallTime
    ) {
        var record = begin(original, token: token, origin: origin, sender: sender, receivedAt: receivedAt)
        record.envelope = envelope
        record.rejection = tables.append(rejection)
        buffers.records.append(record)
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

    /// The arrivals appended since the last call, in order; the batch is empty afterwards and can be filled again.
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

/// Keeps the buffers of released batches for the next ones, so that a steady stream of messages allocates no memory.
///
/// Bounded: at most `maximumKept` sets of buffers, none larger than `maximumBytes`; what is over is freed. Safe on any
/// thread.
public final class ArrivalPool: Sendable {
    private let kept = Mutex<[BatchBuffers]>([])
    private let maximumKept: Int
    private let maximumBytes: Int

    /// - Parameters:
    ///   - maximumKept: how many sets of buffers wait for reuse, at least 0.
    ///   - maximumBytes: the largest set that is kept, in bytes of memory.
    public init(maximumKept: Int = 4, maximumBytes: Int = 4 * 1024 * 1024) {
        self.maximumKept = maximumKept
        self.maximumBytes = maximumBytes
    }

    package func take() -> BatchBuffers {
        guard var buffers = kept.withLock({ $0.popLast() }) else { return BatchBuffers() }
        buffers.clear()
        return buffers
    }

    func giveBack(_ buffers: consuming BatchBuffers) {
        guard buffers.footprint <= maximumBytes else { return }
        let returned = buffers
        kept.withLock { kept in
            if kept.count < maximumKept { kept.append(returned) }
        }
    }
}
