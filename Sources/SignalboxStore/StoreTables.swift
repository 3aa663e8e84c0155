#if Store
internal import SQLiteDatabase
import SignalboxCore

/// The changes to a store's tables. Used inside a transaction; a copy replaces the original only after the commit.
struct StoreTables {
    private let options: StoreOptions
    /// The row of the next message in the journal.
    private var nextRow: Int64
    /// The numbers of the sources.
    private var sources: [SourceName: Int64]
    /// The rows that this transaction finishes.
    private var finished: [Int64] = []
    private var addsLetters = false
    /// The number of letters of this transaction that exceed the limit alone.
    private var tooLarge = 0
    private var idsUntilCleanup = StoreTables.idsBetweenCleanups
    private var fullness = 0
    private var history: OutcomeHistory?

    private static let idsBetweenCleanups = 1_000

    /// The last row of the journal.
    var lastRow: Int64 { nextRow - 1 }

    /// - Throws: An error of the database.
    init(_ db: Database, _ options: StoreOptions) throws {
        self.options = options
        let last = try db.number(sql: "SELECT MAX(row) FROM journal") ?? 0
        guard last < .max else {
            throw DatabaseError(.corrupt, "the journal has no rows left")
        }
        nextRow = last + 1
        history = try options.history.map { try OutcomeHistory(db, $0) }
        let rows = try db.fetchAll(sql: "SELECT id, name FROM sources") { row -> (SourceName, Int64)? in
            guard let name = row.text("name"), let source = try? SourceName(name), let number = row.number("id") else {
                return nil
            }
            return (source, number)
        }
        sources = Dictionary(rows, uniquingKeysWith: { first, _ in first })
    }

    // MARK: - Journal

    /// Appends arrivals of one source to the journal.
    ///
    /// - Returns: The row of the first.
    mutating func append(_ arrivals: [Arrival], _ db: Database) throws -> Int64 {
        let first = nextRow
        guard let source = arrivals.first?.origin.source else { return first }
        let number = try number(of: source, db)
        let insert = try db.cachedStatement(
            sql: "INSERT INTO journal(row, \(StoredMessage.columns)) VALUES (?,?,?,?,?,?,?,?,?,?,?,?)"
        )
        let now = WallTime.current
        var facts: (origin: Origin, text: Bytes)?
        for arrival in arrivals {
            let origin = arrival.origin
            // Messages of one connection or topic share their origin.
            let text = facts.flatMap { $0.origin === origin ? $0.text : nil } ?? StoredMessage.facts(of: origin.facts)
            facts = (origin, text)
            let message = StoredMessage(arrival, facts: text, at: now)
            try insert.execute([nextRow] + message.values(source: number))
            nextRow += 1
        }
        return first
    }

    // MARK: - Outcomes

    /// Records an outcome.
    mutating func record(_ settlement: StoredSettlement, _ db: Database) throws {
        if let row = settlement.row { finished.append(row) }
        if let id = settlement.handledID { try remember(id, of: settlement.source, db) }
        switch (settlement.deadLetter, settlement.replayed) {
        case (let letter?, let number?): try update(number, letter, db)
        case (let letter?, nil): try insert(letter, db)
        case (nil, let number?): try db.execute(sql: "DELETE FROM dead_letters WHERE letter = ?", arguments: [number])
        case (nil, nil): break
        }
    }

    /// Adds an outcome to the history, if there is one.
    mutating func note(_ record: OutcomeRecord, _ db: Database) throws {
        let source = try number(of: record.source, db)
        try history?.add(record, source: source, db)
    }

    /// Completes the transaction: deletes finished messages and what exceeds a limit.
    ///
    /// - Returns: What must be reported.
    mutating func finish(_ db: Database) throws -> [StoreEvent] {
        try deleteFinished(db)
        guard addsLetters || tooLarge > 0 else { return [] }
        addsLetters = false
        return try limitLetters(db)
    }

    /// Deletes finished messages. Most are neighbors, so they are deleted range by range.
    private mutating func deleteFinished(_ db: Database) throws {
        guard !finished.isEmpty else { return }
        finished.sort()
        let delete = try db.cachedStatement(sql: "DELETE FROM journal WHERE row BETWEEN ? AND ?")
        var start = finished[0]
        var end = start
        for row in finished.dropFirst() {
            if row > end + 1 {
                try delete.execute([start, end])
                start = row
            }
            end = row
        }
        try delete.execute([start, end])
        finished.removeAll(keepingCapacity: true)
    }

    private mutating func number(of source: SourceName, _ db: Database) throws -> Int64 {
        if let number = sources[source] { return number }
        try db.execute(sql: "INSERT OR IGNORE INTO sources(name) VALUES (?)", arguments: [source.text])
        let number = try db.number(sql: "SELECT id FROM sources WHERE name = ?", arguments: [source.text]) ?? 0
        sources[source] = number
        return number
    }
}

// MARK: - Dead letters

extension StoreTables {
    private mutating func insert(_ letter: StoredDeadLetter, _ db: Database) throws {
        // A letter that is larger than the whole store must not evict all the others.
        guard letter.message.original.count <= options.deadLetters.bytes else {
            tooLarge += 1
            return
        }
        let now = WallTime.current
        try insert(DeadLetterEntry(number: 0, letter: letter, failures: 1, firstAt: now, lastAt: now), db)
        addsLetters = true
    }

    /// Adds a letter, which receives a new number.
    mutating func insert(_ entry: DeadLetterEntry, _ db: Database) throws {
        let letter = entry.letter
        let source = try number(of: letter.message.source, db)
        let insert = try db.cachedStatement(
            sql: """
                INSERT INTO dead_letters(\(StoredMessage.columns), outcome, reason, detail, path, explanation, attempts, plugin,
                    size, first_at, last_at, failures) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)
                """
        )
        let last: [(any StatementArgument)?] = [
            letter.message.original.count, entry.firstAt.nanosecondsSince1970, entry.lastAt.nanosecondsSince1970,
            entry.failures,
        ]
        try insert.execute(letter.message.values(source: source) + StoreTables.values(letter) + last)
    }

    /// Records that a replayed letter failed again. The message stays as it was.
    private func update(_ number: Int64, _ letter: StoredDeadLetter, _ db: Database) throws {
        let update = try db.cachedStatement(
            sql: """
                UPDATE dead_letters SET outcome = ?, reason = ?, detail = ?, path = ?, explanation = ?,
                    attempts = attempts + ?, plugin = ?, failures = failures + 1, last_at = ?, replay_at = NULL,
                    replay_as = NULL
                WHERE letter = ?
                """
        )
        try update.execute(StoreTables.values(letter) + [WallTime.current.nanosecondsSince1970, number])
    }

    private static func values(_ letter: StoredDeadLetter) -> [(any StatementArgument)?] {
        [
            letter.outcome, letter.reason, letter.detail, letter.path,
            String(decoding: letter.explanation, as: UTF8.self),
            letter.attempts, letter.plugin?.text,
        ]
    }

    /// Deletes the oldest letters while there are too many.
    private mutating func limitLetters(_ db: Database) throws -> [StoreEvent] {
        let limits = options.deadLetters
        let oldest = WallTime.current.advanced(by: .zero - limits.age).nanosecondsSince1970
        try db.execute(sql: "DELETE FROM dead_letters WHERE last_at < ?", arguments: [oldest])
        var deleted = db.changesCount + tooLarge
        tooLarge = 0
        var (count, bytes) = try StoreTables.totals(db)
        while count > 0, count > limits.count || bytes > limits.bytes {
            let excess = max(1, count - limits.count)
            try db.execute(
                sql:
                    "DELETE FROM dead_letters WHERE letter IN (SELECT letter FROM dead_letters ORDER BY last_at LIMIT ?)",
                arguments: [excess]
            )
            guard db.changesCount > 0 else { break }
            deleted += db.changesCount
            (count, bytes) = try StoreTables.totals(db)
        }
        var events: [StoreEvent] = deleted > 0 ? [.lettersDeleted(deleted)] : []
        let percent = Int(limits.fullness(count: count, bytes: bytes) * 100)
        if percent >= 80, fullness < 80 { events.append(.lettersNearlyFull(percent: percent)) }
        fullness = percent
        return events
    }

    /// Returns the number of dead letters, and the size of their messages.
    static func totals(_ db: Database) throws -> (count: Int, bytes: Int) {
        try db.fetchOne(sql: "SELECT count, bytes FROM dead_letter_totals") { row in
            (Int(row.number("count") ?? 0), Int(row.number("bytes") ?? 0))
        } ?? (0, 0)
    }
}

// MARK: - Handled ids

extension StoreTables {
    private mutating func remember(_ id: HandledID, of source: SourceName, _ db: Database) throws {
        let insert = try db.cachedStatement(
            sql: """
                INSERT OR REPLACE INTO handled_ids(source, event_source, message_id, content, reply, handled_at, expires_at)
                VALUES (?,?,?,?,?,?,?)
                """
        )
        try insert.execute([
            try number(of: source, db), id.eventSource ?? "", id.id.text, Int64(bitPattern: id.content), id.reply,
            id.handledAt.nanosecondsSince1970, id.expiresAt.nanosecondsSince1970,
        ])
        idsUntilCleanup -= 1
        guard idsUntilCleanup <= 0 else { return }
        idsUntilCleanup = StoreTables.idsBetweenCleanups
        try limitIDs(db)
    }

    private func limitIDs(_ db: Database) throws {
        let now = WallTime.current.nanosecondsSince1970
        try db.execute(sql: "DELETE FROM handled_ids WHERE expires_at <= ?", arguments: [now])
        try db.execute(
            sql: """
                DELETE FROM handled_ids WHERE expires_at <=
                    (SELECT expires_at FROM handled_ids ORDER BY expires_at DESC LIMIT 1 OFFSET ?)
                """,
            arguments: [options.handledIDs]
        )
    }
}
#endif
