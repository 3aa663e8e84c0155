#if Store
internal import SQLiteDatabase
import SignalboxCore

/// Writes the history of outcomes. Used inside a transaction; a copy replaces the original only after the commit.
struct OutcomeHistory {
    /// How many outcomes are added until the oldest are deleted.
    private static let entriesBetweenCleanups = 1_000
    /// The maximum number of outcomes that are deleted at once because of their age.
    private static let oldestAtOnce = 10_000

    private let limits: HistoryRetention
    private var nextEntry: Int64
    private var entriesUntilCleanup = 0

    /// - Throws: An error of the database.
    init(_ db: Database, _ limits: HistoryRetention) throws {
        self.limits = limits
        let last = try db.number(sql: "SELECT MAX(entry) FROM history") ?? 0
        guard last < .max else {
            throw DatabaseError(.corrupt, "the history has no rows left")
        }
        nextEntry = last + 1
    }

    /// Adds an outcome.
    ///
    /// - Parameter source: The number of its source.
    mutating func add(_ record: OutcomeRecord, source: Int64, _ db: Database) throws {
        let insert = try db.cachedStatement(sql: "INSERT INTO history VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)")
        try insert.execute([
            nextEntry, record.settledAt.nanosecondsSince1970, record.receivedAt.nanosecondsSince1970, source,
            record.action, record.id, record.plugin, record.outcome, record.reason, record.detail, record.path,
            record.attempts, record.isDuplicate, record.isRedelivered,
        ])
        nextEntry += 1
        entriesUntilCleanup -= 1
        guard entriesUntilCleanup <= 0 else { return }
        entriesUntilCleanup = OutcomeHistory.entriesBetweenCleanups
        try deleteOldest(db)
    }

    /// Deletes what exceeds the limits, but never the last outcome.
    private func deleteOldest(_ db: Database) throws {
        let last = nextEntry - 1
        try db.execute(sql: "DELETE FROM history WHERE entry <= ?", arguments: [last - Int64(limits.count)])
        let oldest = WallTime.current.advanced(by: .zero - limits.age).nanosecondsSince1970
        try db.execute(
            sql: """
                DELETE FROM history WHERE entry IN (SELECT entry FROM history WHERE entry < ? ORDER BY entry LIMIT ?)
                    AND settled_at < ?
                """,
            arguments: [last, OutcomeHistory.oldestAtOnce, oldest]
        )
    }
}

// MARK: - Reading

extension HistoryFilter {
    fileprivate var conditions: (sql: String, arguments: [(any StatementArgument)?]) {
        var parts: [String] = []
        var values: [(any StatementArgument)?] = []
        func add(_ condition: String, _ value: (any StatementArgument)?) {
            guard let value else { return }
            parts.append(condition)
            values.append(value)
        }
        add("source = (SELECT id FROM sources WHERE name = ?)", source?.text)
        add("action = ?", action?.text)
        add("? IN (outcome, reason)", outcome)
        add("settled_at >= ?", since?.nanosecondsSince1970)
        add("entry > ?", after)
        let all = parts.isEmpty ? "" : "WHERE " + parts.joined(separator: " AND ")
        guard let limit else { return (all, values) }
        let last = "WHERE entry IN (SELECT entry FROM history \(all) ORDER BY entry DESC LIMIT ?)"
        return (last, values + [limit])
    }
}

extension StoreAdministration {
    /// Returns the first of the selected outcomes, the latest at the end.
    ///
    /// - Parameters:
    ///   - filter: Which outcomes.
    ///   - count: The maximum number of outcomes. The others are selected with ``HistoryFilter/after``.
    /// - Throws: ``StoreError`` if the file cannot be read.
    public func outcomes(_ filter: HistoryFilter, first count: Int) throws(StoreError) -> [HistoryEntry] {
        let (sql, arguments) = filter.conditions
        return try read { db in
            try db.fetchAll(
                sql: """
                    SELECT history.*, (SELECT name FROM sources WHERE id = source) AS source_name FROM history \(sql)
                    ORDER BY entry LIMIT ?
                    """,
                arguments: arguments + [count]
            ) { row in HistoryEntry(row) }
        }
    }

    /// The number of the last outcome of the history, or 0 if no outcome was ever recorded.
    ///
    /// - Throws: ``StoreError`` if the file cannot be read.
    public func lastOutcome() throws(StoreError) -> Int64 {
        try read { try $0.number(sql: "SELECT MAX(entry) FROM history") ?? 0 }
    }
}

extension HistoryEntry {
    fileprivate init?(_ row: borrowing Row) {
        guard let name = row.text("source_name"), let source = try? SourceName(name) else { return nil }
        self.init(
            number: row.number("entry") ?? 0,
            record: OutcomeRecord(
                source: source,
                action: row.text("action"),
                id: row.text("message_id"),
                plugin: row.text("plugin"),
                outcome: row.text("outcome") ?? "",
                reason: row.text("reason") ?? "",
                detail: row.text("detail") ?? "",
                path: row.text("path"),
                attempts: Int(row.number("attempts") ?? 0),
                isDuplicate: row.number("is_duplicate") == 1,
                isRedelivered: row.number("is_redelivered") == 1,
                receivedAt: WallTime(nanosecondsSince1970: row.number("received_at") ?? 0),
                settledAt: WallTime(nanosecondsSince1970: row.number("settled_at") ?? 0)
            )
        )
    }
}
#endif
