#if Store
internal import SQLiteDatabase
public import SignalboxCore

/// Keeps a supervisor's messages in one SQLite file, so that they outlive the process: the journal of sources that have one, dead
/// letters, and the ids of handled messages.
///
/// ```swift
/// var configuration = SupervisorConfiguration()
/// configuration.store = try Store(path: "/var/lib/kiosk/messages.db")
/// let supervisor = Supervisor(configuration: configuration, logger: logger)
/// ```
///
/// Each commit is synced to the disk before anything is acknowledged (`synchronous=FULL` of SQLite's write-ahead log). Beside the
/// file, SQLite keeps the files `-wal` and `-shm`, and the store keeps a `.lock`. Do not copy the file while the store is open; use
/// ``backup(to:)``.
public final class Store: MessageStore {
    /// The path of the file.
    public let path: String
    /// The secret with which content is hashed, which is the same each time the store is opened.
    public let secret: StoreSecret
    /// Whether the program that used the store before ended without closing it.
    public let wasInterrupted: Bool
    let pool: DatabasePool
    private let options: StoreOptions
    private let writer: StoreWriter
    private let lock: StoreLock

    /// Opens a store, and creates the file if it is missing.
    ///
    /// Call this once at the start of a program: it reads the disk, and a file of an earlier version is brought up to date.
    ///
    /// - Throws: ``StoreError`` if another process uses the store, if the file cannot be used, or if it is damaged or of a later
    ///   version.
    public convenience init(path: String, options: StoreOptions = StoreOptions()) throws(StoreError) {
        try self.init(path: path, options: options, dispatchesJournal: true)
    }

    /// - Parameter dispatchesJournal: Whether the journal is worked off. If not, ``close()`` does not hide a crash of the program
    ///   before.
    package convenience init(path: String, options: StoreOptions, dispatchesJournal: Bool) throws(StoreError) {
        options.check()
        let lock = try StoreLock(of: path)
        let logEnd = try StoreFile.logEnd(of: path)
        do {
            let pool = try DatabasePool(path: path, options: StoreFile.options)
            try self.init(path, pool, lock, options, logEnd, dispatchesJournal: dispatchesJournal)
        } catch {
            throw StoreError(error, path: path)
        }
    }

    private init(
        _ path: String,
        _ pool: DatabasePool,
        _ lock: StoreLock,
        _ options: StoreOptions,
        _ logEnd: WriteAheadLog.End,
        dispatchesJournal: Bool
    ) throws {
        let (secret, wasInterrupted, tables) = try pool.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA synchronous = FULL")
            try StoreSchema.migrate(db, path: path)
            // What follows the last commit would look torn when the next commits are shorter. If another process reads the file now,
            // it stays.
            if logEnd != .committed { try? db.execute(sql: "PRAGMA wal_checkpoint(TRUNCATE)") }
            let start = try StoreFile.start(db)
            return (start.secret, start.wasInterrupted, try StoreTables(db, options))
        }
        self.path = path
        self.pool = pool
        self.options = options
        self.lock = lock
        self.secret = secret
        self.wasInterrupted = wasInterrupted
        let isInterrupted = wasInterrupted && !dispatchesJournal
        writer = StoreWriter(
            pool,
            tables,
            path: path,
            isInterruptedAfter: isInterrupted,
            found: logEnd == .torn ? .logTorn : nil
        )
    }

    /// Commits what is pending, and closes the file. Call this after the supervisor's run. Later changes are ignored.
    ///
    /// - Throws: ``StoreError`` if the last commit fails.
    public func close() throws(StoreError) {
        defer { lock.release() }
        do {
            defer { pool.close() }
            try writer.close()
        } catch {
            throw StoreError(error, path: path)
        }
    }

    /// Copies the store to another file, which is complete in itself. Messages may be processed meanwhile.
    ///
    /// - Throws: ``StoreError`` if the file exists or cannot be written.
    public func backup(to copy: String) throws(StoreError) {
        try StoreFile.backup(pool, path, to: copy)
    }
}

// MARK: - Changes

extension Store {
    /// Adds arrivals to the journal, as `MessageStore` describes.
    public func append(_ arrivals: [Arrival], committed: @escaping @Sendable (_ firstRow: Int64) -> Void) {
        writer.add(.append(arrivals, committed: committed))
    }

    /// Records an outcome, as `MessageStore` describes.
    public func record(_ settlement: StoredSettlement, committed: (@Sendable () -> Void)?) {
        writer.add(.settle(settlement, committed: committed))
    }

    /// Counts that a message is dispatched alone, and returns when that is on disk.
    public func beginAlone(_ row: Int64) async {
        await withUnsafeContinuation { continuation in
            writer.add(.beginAlone(row) { continuation.resume() })
        }
    }

    /// Returns when everything that was recorded before is on disk, or when a commit has failed.
    public func flush() async {
        await withUnsafeContinuation { continuation in
            writer.add(.flush { continuation.resume() })
        }
    }

    /// Whether ``StoreOptions/history`` is set.
    public var keepsHistory: Bool { options.history != nil }

    /// Adds an outcome to the history, as `MessageStore` describes. While 10,000 outcomes wait for the disk, others are dropped and
    /// counted.
    public func note(_ record: OutcomeRecord) { writer.add(.note(record)) }

    /// The current time of the system's wall clock.
    public var now: WallTime { .current }

    /// Forgets that a message was dispatched alone.
    public func survivedAlone(_ row: Int64) { writer.add(.survivedAlone(row)) }

    /// Sets what receives the store's events. The supervisor calls this.
    public func observe(_ onEvent: @escaping @Sendable (StoreEvent) -> Void) { writer.observe(onEvent) }
}

extension Store: ReportingStore {
    /// Why the last commit failed, with the file, or `nil` if it succeeded.
    package var writeProblem: String? { writer.problem }
}

// MARK: - Reading

extension Store {
    /// Reads on a thread of the database, because Swift's tasks have few threads, and a read may wait for the disk.
    private func read<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
        try await withUnsafeThrowingContinuation { [path] continuation in
            pool.asyncRead(body) { result in
                continuation.resume(with: result.mapError { StoreError($0, path: path) })
            }
        }
    }

    /// Reads unfinished messages, as `MessageStore` describes.
    ///
    /// - Throws: ``StoreError`` if the file cannot be read.
    public func unfinished(of source: SourceName, after row: Int64, count: Int, bytes: Int) async throws
        -> [JournaledMessage]
    {
        try await read { db in
            var messages: [JournaledMessage] = []
            var size = 0
            guard bytes > 0 else { return messages }
            try db.forEachRow(
                sql: """
                    SELECT row, crashes, \(StoredMessage.columns) FROM journal
                    WHERE source = (SELECT id FROM sources WHERE name = ?) AND row > ? ORDER BY row LIMIT ?
                    """,
                arguments: [source.text, row, count]
            ) { row in
                let message = StoredMessage(row, source: source)
                size += message.original.count
                let crashes = Int(row.number("crashes") ?? 0)
                messages.append(JournaledMessage(row: row.number("row") ?? 0, crashes: crashes, message: message))
                return size < bytes
            }
            return messages
        }
    }

    /// Returns when the oldest unfinished message of a source was received, or `nil` without such a message.
    ///
    /// - Throws: ``StoreError`` if the file cannot be read.
    public func oldest(of source: SourceName) async throws -> WallTime? {
        try await read { db in
            let time = try db.number(
                sql: """
                    SELECT received_at FROM journal WHERE source = (SELECT id FROM sources WHERE name = ?)
                    ORDER BY row LIMIT 1
                    """,
                arguments: [source.text]
            )
            return time.map(WallTime.init(nanosecondsSince1970:))
        }
    }

    /// The last row of the journal that is on disk, or 0.
    public var lastRow: Int64 { writer.lastRow }

    /// Returns how much of a source is in the journal, up to a row.
    ///
    /// - Throws: ``StoreError`` if the file cannot be read.
    public func journalUse(of source: SourceName, upTo row: Int64) async throws -> JournalUse {
        try await read { db in
            let use = try db.fetchOne(
                sql: """
                    SELECT COUNT(*) AS rows, SUM(LENGTH(original)) AS bytes, MAX(row) AS last FROM journal
                    WHERE source = (SELECT id FROM sources WHERE name = ?) AND row <= ?
                    """,
                arguments: [source.text, row]
            ) { row -> JournalUse? in
                guard let last = row.number("last") else { return nil }
                let bytes = row.number("bytes") ?? 0
                return JournalUse(rows: Int(row.number("rows") ?? 0), bytes: Int(bytes), lastRow: last)
            }
            return use ?? JournalUse()
        }
    }

    /// Returns how many dead letters the store keeps.
    ///
    /// - Throws: ``StoreError`` if the file cannot be read.
    public func deadLetterUse() async throws -> DeadLetterUse? {
        let limits = options.deadLetters
        return try await read { db in
            let (count, bytes) = try StoreTables.totals(db)
            return DeadLetterUse(count: count, bytes: bytes, fullness: limits.fullness(count: count, bytes: bytes))
        }
    }

    /// Returns the ids of a source that have not expired, in the order in which they expire.
    ///
    /// - Throws: ``StoreError`` if the file cannot be read.
    public func handledIDs(of source: SourceName, count: Int) async throws -> [HandledID] {
        let now = WallTime.current.nanosecondsSince1970
        return try await read { db in
            let ids = try db.fetchAll(
                sql: """
                    SELECT * FROM handled_ids WHERE source = (SELECT id FROM sources WHERE name = ?) AND expires_at > ?
                    ORDER BY expires_at DESC LIMIT ?
                    """,
                arguments: [source.text, now, count]
            ) { row in HandledID(row) }
            return ids.reversed()
        }
    }

    /// Returns the dead letters that are to be replayed now, in the order of their requests.
    ///
    /// - Throws: ``StoreError`` if the file cannot be read.
    public func requestedReplays(count: Int) async throws -> [RequestedReplay] {
        let now = WallTime.current.nanosecondsSince1970
        return try await read { db in
            try db.fetchAll(
                sql: """
                    SELECT letter, replay_as, sources.name AS source_name, dead_letters.* FROM dead_letters
                    JOIN sources ON sources.id = dead_letters.source
                    WHERE replay_at <= ? ORDER BY replay_at, letter LIMIT ?
                    """,
                arguments: [now, count]
            ) { row in
                guard let name = row.text("source_name"), let source = try? SourceName(name) else { return nil }
                return RequestedReplay(
                    letter: row.number("letter") ?? 0,
                    message: StoredMessage(row, source: source),
                    action: row.text("replay_as").flatMap(ActionName.init(stored:))
                )
            }
        }
    }
}

extension HandledID {
    fileprivate init?(_ row: borrowing Row) {
        guard let id = row.text("message_id").flatMap({ ActionID($0) }), let content = row.number("content"),
            let handledAt = row.number("handled_at"), let expiresAt = row.number("expires_at")
        else { return nil }
        let source = row.text("event_source") ?? ""
        self.init(
            id: id,
            eventSource: source.isEmpty ? nil : source,
            content: UInt64(bitPattern: content),
            reply: row.bytes("reply").map { Bytes($0) },
            handledAt: WallTime(nanosecondsSince1970: handledAt),
            expiresAt: WallTime(nanosecondsSince1970: expiresAt)
        )
    }
}
#endif
