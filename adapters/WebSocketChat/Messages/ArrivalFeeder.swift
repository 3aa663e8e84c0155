import AdapterThreads
import SignalboxCore

/// Makes arrivals of pieces and submits them: once a pass of the thread, or when a batch is full. Belongs to the service's
/// thread.
///
/// A connection is not read while too many of its messages have no outcome, and none is while the intake has no room: each
/// may then bring one more piece, which may complete one message, and no more.
final class ArrivalFeeder {
    struct Parts {
        let frames: WebSocketFrames
        let limits: MessageLimits
        /// How many messages of one connection may be without an outcome.
        let connectionWindow: Int
        let intake: any Intake
        let table: SettlementTable
        let room: RoomRequests
        let transport: any FrameSender
    }

    // As many small messages as one read of a client brings, so that they are one batch.
    static let batchMessages = 512
    static let batchBytes = 262_144

    private let parts: Parts
    private let envelopes: FrameEnvelopes
    private var batch: PassBatch
    /// Expected by the table, and not taken by the intake.
    private var pending = PendingArrivals()
    private var touched: [ReadConnection] = []
    /// Whether the intake has no room, and nothing is submitted until it has.
    private(set) var isWaiting = false
    /// Whether the intake takes nothing any more, ever.
    private(set) var isClosed = false
    /// Messages that were read and that the intake did not take before it closed.
    private(set) var notTaken = 0

    init(_ parts: Parts) {
        self.parts = parts
        envelopes = FrameEnvelopes(parts.frames)
        batch = PassBatch(limits: parts.limits, table: parts.table)
    }

    /// How one of the source's connections is read.
    func connection(_ chat: ChatConnection, origin: Origin) -> ReadConnection {
        let flow = ConnectionFlow(chat.number, window: parts.connectionWindow, transport: parts.transport)
        return ReadConnection(chat, origin: origin, flow: flow, limit: parts.limits.bytes)
    }

    // MARK: - Reading

    func received(_ piece: MessagePiece, on connection: ReadConnection) -> PieceVerdict {
        if piece.isBinary && envelopes.binary == nil {
            let error = BodyError(.typeMismatch, detail: "a text message expected, not a binary one")
            let kept = UnsafeRawBufferPointer(rebasing: piece.bytes.prefix(parts.limits.bytes))
            append(rejected: error, kept, connection)
            return .close(.unacceptableData, reason: "binary messages are not accepted")
        }
        switch connection.assembler.add(piece) {
        case .incomplete: break
        case .tooBig:
            let error = BodyError(.tooLarge, detail: "at most \(parts.limits.bytes) bytes expected")
            connection.assembler.withMessage(piece) { append(rejected: error, $0, connection) }
            connection.assembler.forget()
            return .close(.messageTooBig, reason: "at most \(parts.limits.bytes) bytes")
        case .whole:
            connection.assembler.withMessage(piece) { append($0, isBinary: piece.isBinary, connection) }
            connection.assembler.forget()
        }
        if isWaiting { hold(connection) }
        return connection.flow.isPaused ? .pause : .proceed
    }

    /// Submits an action of our own about a connection.
    ///
    /// - Parameter body: a JSON object without a member `action`.
    func announce(_ action: ActionName, body: [UInt8], on connection: ReadConnection) {
        connection.flow.addOwn()
        body.withUnsafeBytes { append($0, .handler(action), .json, connection) }
    }

    private func append(_ message: UnsafeRawBufferPointer, isBinary: Bool, _ connection: ReadConnection) {
        if !isBinary && envelopes.textMayBeBatch && FrameElements.isArray(message) {
            return append(batch: message, connection)
        }
        connection.flow.add(1)
        if isBinary, let envelope = envelopes.binary {
            append(message, envelope, .bytes, connection)
        } else {
            append(message, envelopes.text, envelopes.textPayload, connection)
        }
    }

    private func append(batch array: UnsafeRawBufferPointer, _ connection: ReadConnection) {
        do throws(FrameElements.Fault) {
            let places = try FrameElements.places(in: array, limit: parts.frames.batch)
            connection.flow.add(places.count)
            for place in places {
                append(UnsafeRawBufferPointer(rebasing: array[place]), envelopes.text, .json, connection)
            }
        } catch {
            append(rejected: error.bodyError(limit: parts.frames.batch), array, connection)
        }
    }

    // The message is counted already.
    private func append(
        _ message: UnsafeRawBufferPointer,
        _ envelope: Envelope,
        _ payload: PayloadKind,
        _ connection: ReadConnection
    ) {
        touch(connection)
        batch.append(message, envelope, payload, connection)
        if batch.isFull { submit() }
    }

    private func append(rejected error: BodyError, _ message: UnsafeRawBufferPointer, _ connection: ReadConnection) {
        connection.flow.add(1)
        touch(connection)
        batch.append(rejected: error, message, connection)
        if batch.isFull { submit() }
    }

    private func touch(_ connection: ReadConnection) {
        guard !connection.isTouched else { return }
        connection.isTouched = true
        touched.append(connection)
    }

    // MARK: - Submitting

    /// Submits what was read, and what waits when there is room for it.
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

    /// Submits for the last time. What the intake has no room for is answered as what a drain leaves behind.
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
            // Never trusts the answer further than the batch reaches.
            let taken = min(max(0, parts.intake.submit(front, to: parts.table)), front.count)
            pending.removeFirst(taken)
            if taken < front.count { wait() }
        }
        if !isWaiting { readAgain() }
    }

    private func wait() {
        isWaiting = true
        for connection in touched { connection.flow.pause(.room) }
        parts.room.want()
    }

    private func hold(_ connection: ReadConnection) {
        touch(connection)
        connection.flow.pause(.room)
    }

    private func readAgain() {
        for connection in touched {
            connection.isTouched = false
            connection.flow.unpause(.room)
        }
        touched.removeAll(keepingCapacity: true)
    }

    private func drop() {
        let dropped = pending.removeAll()
        notTaken += dropped.count
        for arrival in dropped { parts.table.settle(arrival.token, .abandoned(.drain)) }
    }
}

/// What was read since the last time it was submitted, and whose each message is. Belongs to the service's thread.
///
/// One value, as each message changes all of it: so a message is one access to its owner's memory.
struct PassBatch: ~Copyable {
    private static let messages = ArrivalFeeder.batchMessages
    private static let bytes = ArrivalFeeder.batchBytes

    private let table: SettlementTable
    private var arrivals: ArrivalBatch
    private var owners: [ReadConnection] = []
    private var byteCount = 0
    private var tokens: [UInt64] = []
    private var receivedAt = WallTime(seconds: 0)

    init(limits: MessageLimits, table: SettlementTable) {
        self.table = table
        arrivals = ArrivalBatch(pool: ArrivalPool(), limits: limits)
    }

    /// Whether it is to be submitted before more is read.
    var isFull: Bool { owners.count >= PassBatch.messages || byteCount >= PassBatch.bytes }

    mutating func append(
        _ message: UnsafeRawBufferPointer,
        _ envelope: Envelope,
        _ payload: PayloadKind,
        _ connection: ReadConnection
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
        _ connection: ReadConnection
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

    private mutating func nextToken(_ message: UnsafeRawBufferPointer, _ connection: ReadConnection) -> UInt64 {
        if owners.isEmpty { receivedAt = .now() }
        owners.append(connection)
        byteCount += message.count
        if tokens.isEmpty { tokens = table.reserve(PassBatch.messages) }
        return tokens.removeLast()
    }

    /// The arrivals, of which the table knows; there may be none.
    mutating func take() -> [Arrival] {
        guard !owners.isEmpty else { return [] }
        let taken = arrivals.take()
        table.expect(taken, of: owners)
        owners.removeAll(keepingCapacity: true)
        byteCount = 0
        return taken
    }
}

/// Arrivals that were read and not taken yet, in order. Belongs to the service's thread.
///
/// They stay in the batches they came in, so that handing over a part never moves what waits behind it.
struct PendingArrivals {
    private var batches: [[Arrival]] = []
    private var first = 0
    private(set) var count = 0

    /// The next to be handed over; empty when there are none.
    var front: [Arrival] { first < batches.count ? batches[first] : [] }

    mutating func append(_ batch: [Arrival]) {
        guard !batch.isEmpty else { return }
        batches.append(batch)
        count += batch.count
    }

    /// Takes so many from the front: at most as many as ``front`` has.
    mutating func removeFirst(_ taken: Int) {
        guard taken > 0, first < batches.count else { return }
        count -= taken
        guard taken == batches[first].count else {
            batches[first].removeFirst(taken)
            return
        }
        batches[first] = []
        first += 1
        if first == batches.count {
            batches.removeAll(keepingCapacity: first <= 64)
            first = 0
        } else if first >= 64 && first * 2 >= batches.count {
            batches.removeFirst(first)
            first = 0
        }
    }

    /// Takes all.
    mutating func removeAll() -> [Arrival] {
        defer { self = PendingArrivals() }
        return batches[first...].flatMap { $0 }
    }
}
