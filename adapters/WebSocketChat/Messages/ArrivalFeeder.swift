import AdapterSupport
import DequeModule
import SignalboxCore

/// Turns message pieces into arrivals, and submits them after each pass or when a batch is full.
///
/// A connection is paused while too many of its messages are unsettled, and all connections are paused while the intake
/// has no room. Each paused connection may still deliver one more piece, which may complete one message. Only the
/// service's thread uses the feeder.
final class ArrivalFeeder {
    struct Parts {
        let frames: WebSocketFrames
        let limits: MessageLimits
        /// The maximum number of unsettled messages per connection.
        let connectionWindow: Int
        let intake: any Intake
        let table: SettlementTable
        let room: RoomRequests
        let transport: any FrameSender
    }

    // A client's read contains about this many small messages, so they form a single batch.
    static let batchMessages = 512
    static let batchBytes = 262_144

    private let parts: Parts
    private let envelopes: FrameEnvelopes
    private var batch: PassBatch
    /// The arrivals that are registered in the table, but that the intake has not accepted yet.
    private var pending = PendingArrivals()
    private var touched: [InboundConnection] = []
    /// Whether the intake has no room. If so, the feeder submits nothing until there is room again.
    private(set) var isWaiting = false
    /// Whether the intake or the feeder has closed.
    private(set) var isClosed = false
    /// The number of messages that had been read, but not accepted, when the intake or the feeder closed.
    private(set) var notTaken = 0

    init(_ parts: Parts) {
        self.parts = parts
        envelopes = FrameEnvelopes(parts.frames)
        batch = PassBatch(limits: parts.limits, table: parts.table)
    }

    /// Creates the reading state for one of the source's connections.
    func connection(_ chat: ChatConnection, origin: Origin) -> InboundConnection {
        let flow = ConnectionFlow(chat.number, window: parts.connectionWindow, transport: parts.transport)
        return InboundConnection(chat, origin: origin, flow: flow, limit: parts.limits.bytes)
    }

    // MARK: - Reading

    func received(_ piece: MessagePiece, on connection: InboundConnection) -> PieceVerdict {
        if piece.isBinary && envelopes.binary == nil {
            let kept = UnsafeRawBufferPointer(rebasing: piece.bytes.prefix(parts.limits.bytes))
            append(rejected: FrameEnvelopes.binaryError, kept, connection)
            return .close(.unacceptableData, reason: "binary messages are not accepted")
        }
        switch connection.assembler.add(piece) {
        case .incomplete: break
        case .tooBig:
            let error = BodyError(.tooLarge, detail: "expected at most \(parts.limits.bytes) bytes")
            connection.assembler.withMessage(piece) { append(rejected: error, $0, connection) }
            connection.assembler.reset()
            return .close(.messageTooBig, reason: "at most \(parts.limits.bytes) bytes")
        case .complete:
            connection.assembler.withMessage(piece) { append($0, isBinary: piece.isBinary, connection) }
            connection.assembler.reset()
        }
        if isWaiting { hold(connection) }
        return connection.flow.isPaused ? .pause : .proceed
    }

    /// Submits an internal action about a connection.
    ///
    /// - Parameter body: A JSON object that has no member `action`.
    func announce(_ action: ActionName, body: [UInt8], on connection: InboundConnection) {
        connection.flow.addInternal()
        body.withUnsafeBytes { append($0, .handler(action), .json, connection) }
    }

    private func append(_ message: UnsafeRawBufferPointer, isBinary: Bool, _ connection: InboundConnection) {
        if !isBinary && envelopes.textMayBeBatch && FrameElements.isArray(message) {
            return append(batch: message, connection)
        }
        // An answer is not a message for a plugin, so it takes no place in a window.
        if !isBinary, connection.chat.calls.awaitAnswers(), connection.chat.takeAnswer(message) { return }
        connection.flow.add(1)
        if isBinary, let envelope = envelopes.binary {
            append(message, envelope, .bytes, connection)
        } else {
            append(message, envelopes.text, envelopes.textPayload, connection)
        }
    }

    private func append(batch array: UnsafeRawBufferPointer, _ connection: InboundConnection) {
        do throws(BodyError) {
            var ranges = try FrameElements.ranges(in: array, limit: parts.frames.batch)
            if connection.chat.calls.awaitAnswers() {
                ranges.removeAll { connection.chat.takeAnswer(UnsafeRawBufferPointer(rebasing: array[$0])) }
            }
            connection.flow.add(ranges.count)
            for range in ranges {
                append(UnsafeRawBufferPointer(rebasing: array[range]), envelopes.text, .json, connection)
            }
        } catch {
            append(rejected: error, array, connection)
        }
    }

    // The caller has already counted the message.
    private func append(
        _ message: UnsafeRawBufferPointer,
        _ envelope: Envelope,
        _ payload: PayloadKind,
        _ connection: InboundConnection
    ) {
        touch(connection)
        batch.append(message, envelope, payload, connection)
        if batch.isFull { submit() }
    }

    private func append(rejected error: BodyError, _ message: UnsafeRawBufferPointer, _ connection: InboundConnection) {
        connection.flow.add(1)
        touch(connection)
        batch.append(rejected: error, message, connection)
        if batch.isFull { submit() }
    }

    private func touch(_ connection: InboundConnection) {
        guard !connection.isTouched else { return }
        connection.isTouched = true
        touched.append(connection)
    }

    // MARK: - Submitting

    /// Submits the pending messages, and then those read since the last call, as long as the intake has room.
    func passEnded() {
        if isWaiting {
            switch parts.room.answer {
            case .unknown: break
            case .free: isWaiting = false
            case .closed: isClosed = true
            }
        }
        submit()
    }

    /// Submits for the last time. Messages that do not fit into the intake are abandoned, as in a drain.
    func close() {
        submit()
        isClosed = true
        drop()
    }

    private func submit() {
        pending.append(batch.take())
        if isClosed { return drop() }
        while !isWaiting, pending.count > 0 {
            let front = pending.front
            let accepted = parts.intake.take(front, to: parts.table)
            pending.removeFirst(accepted)
            if accepted < front.count { wait() }
        }
        if !isWaiting { resumeReading() }
    }

    private func wait() {
        isWaiting = true
        for connection in touched { connection.flow.pause(.backpressure) }
        parts.room.want()
    }

    private func hold(_ connection: InboundConnection) {
        touch(connection)
        connection.flow.pause(.backpressure)
    }

    private func resumeReading() {
        for connection in touched {
            connection.isTouched = false
            connection.flow.unpause(.backpressure)
        }
        touched.removeAll(keepingCapacity: true)
    }

    private func drop() {
        let dropped = pending.removeAll()
        notTaken += dropped.count
        for arrival in dropped { parts.table.settle(arrival.token, .abandoned(.drain)) }
    }
}

/// Collects the messages read since the last submission, together with the connection of each. Only the service's
/// thread uses it.
///
/// The batch is a single value so that each message, which changes all of its fields, needs to access the owner's
/// memory only once.
struct PassBatch: ~Copyable {
    private static let messages = ArrivalFeeder.batchMessages
    private static let bytes = ArrivalFeeder.batchBytes

    private let table: SettlementTable
    private var arrivals: ArrivalBatch
    private var owners: [InboundConnection] = []
    private var byteCount = 0
    private var tokens: [UInt64] = []
    private var receivedAt = WallTime(seconds: 0)

    init(limits: MessageLimits, table: SettlementTable) {
        self.table = table
        arrivals = ArrivalBatch(pool: ArrivalPool(), limits: limits)
    }

    /// Whether the batch must be submitted before anything else is read.
    var isFull: Bool { owners.count >= PassBatch.messages || byteCount >= PassBatch.bytes }

    mutating func append(
        _ message: UnsafeRawBufferPointer,
        _ envelope: Envelope,
        _ payload: PayloadKind,
        _ connection: InboundConnection
    ) {
        arrivals.append(
            message,
            token: nextToken(message, connection),
            origin: connection.origin,
            sender: connection.chat,
            receivedAt: receivedAt,
            envelope: envelope,
            payload: payload
        )
    }

    mutating func append(
        rejected error: BodyError,
        _ message: UnsafeRawBufferPointer,
        _ connection: InboundConnection
    ) {
        arrivals.append(
            rejected: Outcome.Rejection(.malformed, error),
            original: message,
            token: nextToken(message, connection),
            origin: connection.origin,
            sender: connection.chat,
            receivedAt: receivedAt
        )
    }

    private mutating func nextToken(_ message: UnsafeRawBufferPointer, _ connection: InboundConnection) -> UInt64 {
        if owners.isEmpty { receivedAt = .now() }
        owners.append(connection)
        byteCount += message.count
        if tokens.isEmpty { tokens = table.reserve(PassBatch.messages) }
        return tokens.removeLast()
    }

    /// Registers the arrivals in the table, then removes and returns them. The result may be empty.
    mutating func take() -> [Arrival] {
        guard !owners.isEmpty else { return [] }
        let taken = arrivals.take()
        table.expect(taken, of: owners)
        owners.removeAll(keepingCapacity: true)
        byteCount = 0
        return taken
    }
}

/// Holds the arrivals that the intake has not accepted yet, in order. Only the service's thread uses it.
///
/// The arrivals stay in their original batches, so that submitting some of them never moves the others.
struct PendingArrivals {
    private var batches = Deque<[Arrival]>()
    private(set) var count = 0
    /// Whether more batches were waiting than the empty queue keeps memory for.
    private var hasGrown = false

    /// The next batch to submit, or an empty array if nothing is pending.
    var front: [Arrival] { batches.first ?? [] }

    mutating func append(_ batch: [Arrival]) {
        guard !batch.isEmpty else { return }
        batches.append(batch)
        count += batch.count
        if batches.count > 64 { hasGrown = true }
    }

    /// Removes the first `taken` arrivals. ``front`` must contain at least that many.
    mutating func removeFirst(_ taken: Int) {
        guard taken > 0, !batches.isEmpty else { return }
        count -= taken
        if taken < front.count {
            batches[0].removeFirst(taken)
        } else {
            batches.removeFirst()
            if batches.isEmpty, hasGrown { self = PendingArrivals() }
        }
    }

    /// Removes and returns all arrivals.
    mutating func removeAll() -> [Arrival] {
        defer { self = PendingArrivals() }
        return batches.flatMap { $0 }
    }
}
