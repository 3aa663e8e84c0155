import AdapterThreads
import SignalboxCore

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
