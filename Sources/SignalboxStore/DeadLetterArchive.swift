#if Store
internal import SQLiteDatabase
public import SignalboxCore

extension DeadLetterFilter {
    fileprivate var conditions: (sql: String, arguments: [(any StatementArgument)?]) {
        var parts: [String] = []
        var values: [(any StatementArgument)?] = []
        if !numbers.isEmpty {
            // As one value, because a statement has a maximum length.
            parts.append("letter IN (SELECT value FROM json_each(?))")
            values.append("[\(numbers.map(String.init).joined(separator: ","))]")
        }
        if let reason {
            parts.append("reason = ?")
            values.append(reason)
        }
        if let source {
            parts.append("source = (SELECT id FROM sources WHERE name = ?)")
            values.append(source.text)
        }
        if let action {
            parts.append("action = ?")
            values.append(action.text)
        }
        if let since {
            parts.append("last_at >= ?")
            values.append(since.nanosecondsSince1970)
        }
        let all = parts.isEmpty ? "" : "WHERE " + parts.joined(separator: " AND ")
        guard let limit else { return (all, values) }
        let last = "WHERE letter IN (SELECT letter FROM dead_letters \(all) ORDER BY last_at DESC, letter DESC LIMIT ?)"
        return (last, values + [limit])
    }
}

extension StoreAdministration {
    /// Calls `body` with the selected letters, in the order of their last failure.
    ///
    /// - Throws: ``StoreError`` if the file cannot be read, or the error that `body` throws.
    public func forEachLetter(_ filter: DeadLetterFilter, _ body: (DeadLetterEntry) throws -> Void) throws {
        var failure: (any Error)?
        try read { db in
            let (sql, arguments) = filter.conditions
            try db.forEachRow(
                sql: """
                    SELECT dead_letters.*, (SELECT name FROM sources WHERE id = source) AS source_name
                    FROM dead_letters \(sql) ORDER BY last_at, letter
                    """,
                arguments: arguments
            ) { row in
                guard let entry = DeadLetterEntry(row) else { return true }
                do { try body(entry) } catch { failure = error }
                return failure == nil
            }
        }
        if let failure { throw failure }
    }

    /// Returns the number of selected letters.
    ///
    /// - Throws: ``StoreError`` if the file cannot be read.
    public func count(_ filter: DeadLetterFilter) throws(StoreError) -> Int {
        let (sql, arguments) = filter.conditions
        return try read {
            try $0.count(sql: "SELECT COUNT(*) FROM dead_letters \(sql)", arguments: arguments)
        }
    }

    /// Requests that the selected letters be replayed, by the process that runs with the store or by the next one.
    ///
    /// - Parameters:
    ///   - filter: Selects the letters.
    ///   - action: The action as which they are dispatched, or `nil` for their own.
    ///   - perSecond: The maximum number of letters that are replayed in a second, or `nil` for no limit.
    /// - Returns: The numbers of the letters, in the order in which they are replayed.
    /// - Throws: ``StoreError`` if the file cannot be written.
    @discardableResult
    public func requestReplay(_ filter: DeadLetterFilter, as action: ActionName? = nil, perSecond: Int? = nil)
        throws(StoreError) -> [Int64]
    {
        let now = WallTime.current.nanosecondsSince1970
        let interval = perSecond.map { 1_000_000_000 / Int64(max(1, $0)) } ?? 0
        let (sql, arguments) = filter.conditions
        return try write { db in
            let letters = try db.fetchAll(
                sql: "SELECT letter FROM dead_letters \(sql) ORDER BY last_at, letter",
                arguments: arguments
            ) { $0.number(at: 0) }
            let update = try db.makeStatement(
                sql: "UPDATE dead_letters SET replay_at = ?, replay_as = ? WHERE letter = ?"
            )
            for (position, letter) in letters.enumerated() {
                try update.execute([now + Int64(position) * interval, action?.text, letter])
            }
            return letters
        }
    }

    /// Deletes the selected letters.
    ///
    /// - Returns: The number of deleted letters.
    /// - Throws: ``StoreError`` if the file cannot be written.
    @discardableResult
    public func purge(_ filter: DeadLetterFilter) throws(StoreError) -> Int {
        let (sql, arguments) = filter.conditions
        return try write { db in
            try db.execute(sql: "DELETE FROM dead_letters \(sql)", arguments: arguments)
            return db.changesCount
        }
    }

    /// Adds letters from another store. They receive new numbers and keep everything else.
    ///
    /// - Throws: ``StoreError`` if the file cannot be written. Then no letter has been added.
    public func add(_ entries: [DeadLetterEntry]) throws(StoreError) {
        try write { db in
            var tables = try StoreTables(db, StoreOptions())
            for entry in entries { try tables.insert(entry, db) }
        }
    }
}

extension DeadLetterEntry {
    fileprivate init?(_ row: borrowing Row) {
        guard let name = row.text("source_name"), let source = try? SourceName(name) else { return nil }
        self.init(
            number: row.number("letter") ?? 0,
            letter: StoredDeadLetter(
                message: StoredMessage(row, source: source),
                outcome: row.text("outcome") ?? "",
                reason: row.text("reason") ?? "",
                detail: row.text("detail") ?? "",
                path: row.text("path"),
                explanation: Bytes(row.text("explanation") ?? "[]"),
                attempts: Int(row.number("attempts") ?? 0),
                plugin: row.text("plugin").flatMap(ActionName.init(stored:))
            ),
            failures: Int(row.number("failures") ?? 0),
            firstAt: WallTime(nanosecondsSince1970: row.number("first_at") ?? 0),
            lastAt: WallTime(nanosecondsSince1970: row.number("last_at") ?? 0),
            isToBeReplayed: row.number("replay_at") != nil
        )
    }
}
#endif
