#if Store
internal import SQLiteDatabase
import SignalboxCore

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Converts messages to and from rows.
extension StoredMessage {
    /// The columns of a message, in the order of ``values(source:)``.
    static let columns =
        "source, received_at, expires_at, facts_kind, facts, action, message_id, has_sender_id, envelope, payload, original"

    /// Returns the values for ``columns``.
    func values(source: Int64) -> [(any StatementArgument)?] {
        [
            source, receivedAt.nanosecondsSince1970, expiresAt?.nanosecondsSince1970, factsKind,
            String(decoding: facts, as: UTF8.self), action?.text, id?.text, hasSenderID, envelope.description,
            payload.rawValue, original,
        ]
    }

    /// Creates a message from a row. A value of a wrong type, in a damaged file, becomes an empty one.
    ///
    /// - Parameter source: The name of the source.
    init(_ row: borrowing Row, source: SourceName) {
        self.init(
            source: source,
            factsKind: row.text("facts_kind") ?? "",
            facts: Bytes(row.text("facts") ?? "null"),
            action: row.text("action").flatMap(ActionName.init(stored:)),
            id: row.text("message_id").flatMap { ActionID($0) },
            hasSenderID: row.number("has_sender_id") == 1,
            envelope: EnvelopeKind(named: row.text("envelope") ?? ""),
            payload: PayloadKind(rawValue: row.text("payload") ?? "") ?? .json,
            receivedAt: WallTime(nanosecondsSince1970: row.number("received_at") ?? 0),
            expiresAt: row.number("expires_at").map(WallTime.init(nanosecondsSince1970:)),
            original: Bytes(row.bytes("original") ?? [])
        )
    }
}

extension Database {
    /// Returns the number in the first column of the first row of a query, or 0 if there is none.
    func count(sql: String, arguments: [(any StatementArgument)?] = []) throws -> Int {
        Int(try number(sql: sql, arguments: arguments) ?? 0)
    }
}

extension WallTime {
    /// The time in the form of the store's columns. Times beyond the years 1677 to 2262 are cut off there.
    var nanosecondsSince1970: Int64 {
        let (scaled, isOver) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        guard !isOver else { return seconds < 0 ? .min : .max }
        let (sum, isLate) = scaled.addingReportingOverflow(Int64(nanoseconds))
        return isLate ? .max : sum
    }

    init(nanosecondsSince1970 count: Int64) {
        let (seconds, rest) = count.quotientAndRemainder(dividingBy: 1_000_000_000)
        self.init(
            seconds: rest < 0 ? seconds - 1 : seconds,
            nanoseconds: UInt32(rest < 0 ? rest + 1_000_000_000 : rest)
        )
    }

    /// The current time of the system's wall clock.
    static var current: WallTime {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return WallTime(seconds: Int64(time.tv_sec), nanoseconds: UInt32(time.tv_nsec))
    }
}

extension Bytes: StatementArgument {
    func bind(to statement: Statement, at position: Int) throws(DatabaseError) {
        try withUnsafeBytes { (bytes) throws(DatabaseError) in try statement.bind(blob: bytes, at: position) }
    }
}
#endif
