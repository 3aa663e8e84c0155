#if Store
internal import CSQLite

/// How a connection is opened.
package struct DatabaseOptions: Sendable {
    /// How long a statement waits for the lock of another connection before it fails with ``ResultCode/busy``.
    package var busyTimeout: Duration
    /// Whether changes are refused. The file must exist then.
    package var isReadOnly: Bool
    /// The name of the queue, which debuggers show.
    package var label: String

    package init(busyTimeout: Duration = .zero, isReadOnly: Bool = false, label: String = "sqlite") {
        self.busyTimeout = busyTimeout
        self.isReadOnly = isReadOnly
        self.label = label
    }
}

/// A connection to a database file.
///
/// It must be used by one thread at a time: ``DatabaseQueue`` and ``DatabasePool`` hand it to closures, which must not keep it.
package final class Database {
    private enum State {
        case unopened
        case open(OpaquePointer)
        case closed
    }

    /// The path of the file.
    package let path: String
    private let options: DatabaseOptions
    private var state = State.unopened
    private var statements: [String: Statement] = [:]
    /// Whether a transaction of ``inTransaction(_:_:)`` is open.
    var isInTransactionBlock = false

    /// The maximum number of statements that are kept. Each text of SQL in a program is one.
    private static let maximumStatements = 64

    /// Creates a connection that opens the file at its first use.
    init(path: String, options: DatabaseOptions) {
        self.path = path
        self.options = options
    }

    deinit { close() }

    // MARK: - Opening and closing

    /// Opens the file if it is not open.
    ///
    /// - Returns: The connection's handle, which is valid until ``close()``.
    /// - Throws: ``DatabaseError`` if the file cannot be opened or is no database, or if the connection was closed.
    @discardableResult
    func open() throws(DatabaseError) -> OpaquePointer {
        switch state {
        case .open(let handle): return handle
        case .closed: throw .closed
        case .unopened: break
        }
        let handle = try Database.handle(path, options)
        state = .open(handle)
        do { try setUp(handle) } catch {
            // The next use tries again.
            statements.removeAll()
            sqlite3_close_v2(handle)
            state = .unopened
            throw error
        }
        return handle
    }

    private static func handle(_ path: String, _ options: DatabaseOptions) throws(DatabaseError) -> OpaquePointer {
        // Without SQLite's own mutexes, because one thread at a time uses the connection.
        let access = options.isReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
        var handle: OpaquePointer?
        let code = sqlite3_open_v2(path, &handle, access | SQLITE_OPEN_NOMUTEX, nil)
        if code == SQLITE_OK, let handle { return handle }
        // A handle is created even then, and has the reason.
        defer { sqlite3_close(handle) }
        throw DatabaseError(code, handle)
    }

    private func setUp(_ handle: OpaquePointer) throws(DatabaseError) {
        sqlite3_extended_result_codes(handle, 1)
        let (seconds, attoseconds) = options.busyTimeout.components
        sqlite3_busy_timeout(handle, Int32(clamping: seconds * 1_000 + attoseconds / 1_000_000_000_000_000))
        csqlite_refuse_double_quoted_text(handle)
        try execute(sql: "PRAGMA foreign_keys = ON")
        // SQLite reads the file only when it needs it. This finds a file that is no database.
        try execute(sql: "SELECT 1 FROM sqlite_schema LIMIT 1")
    }

    /// Closes the connection, which throws ``ResultCode/misuse`` afterwards. The last connection to a file moves what is in the
    /// write-ahead log to the file, and deletes the log.
    func close() {
        defer { state = .closed }
        guard case .open(let handle) = state else { return }
        statements.removeAll()
        // If a statement is left, the handle is released with it.
        sqlite3_close_v2(handle)
    }

    /// Keeps changes in a write-ahead log from now on, so that readers and a writer do not wait for each other. The file remembers it.
    func useWriteAheadLog() throws {
        var mode: String?
        try forEachRow(sql: "PRAGMA journal_mode = WAL") { row in
            mode = row.text(at: 0)
            return false
        }
        guard mode == "wal" else { throw DatabaseError(.error, "the file cannot have a write-ahead log") }
    }

    // MARK: - Statements

    /// Returns a statement that is kept for the next call with the same SQL. Only for constant SQL.
    package func cachedStatement(sql: String) throws(DatabaseError) -> Statement {
        if let statement = statements[sql] {
            // A loop over its rows may be what calls.
            return statement.isBusy ? try makeStatement(sql: sql) : statement
        }
        let (statement, _) = try prepare(sql.utf8CString, from: 0, flags: UInt32(SQLITE_PREPARE_PERSISTENT))
        guard let statement else { throw DatabaseError(.misuse, "no statement in: \(sql)") }
        if statements.count >= Database.maximumStatements { statements.removeAll() }
        statements[sql] = statement
        return statement
    }

    /// Returns a new statement.
    ///
    /// - Parameter sql: One statement.
    package func makeStatement(sql: String) throws(DatabaseError) -> Statement {
        guard let statement = try prepare(sql.utf8CString, from: 0).statement else {
            throw DatabaseError(.misuse, "no statement in: \(sql)")
        }
        return statement
    }

    /// Executes SQL, and ignores its rows.
    ///
    /// - Parameters:
    ///   - sql: One or more statements. With arguments, exactly one.
    ///   - arguments: A value for each `?` of the statement.
    package func execute(sql: String, arguments: [(any StatementArgument)?] = []) throws(DatabaseError) {
        let text = sql.utf8CString
        var position = 0
        while position < text.count - 1 {
            let (statement, end) = try prepare(text, from: position)
            try statement?.execute(arguments)
            position = end
        }
    }

    /// Returns the number of rows that the last `INSERT`, `UPDATE` or `DELETE` changed, without what triggers changed.
    package var changesCount: Int {
        guard case .open(let handle) = state else { return 0 }
        return Int(sqlite3_changes(handle))
    }

    /// Compiles the first statement of a text.
    ///
    /// - Returns: The statement, or `nil` if there are only comments, and where the next one begins.
    private func prepare(_ text: ContiguousArray<CChar>, from start: Int, flags: UInt32 = 0) throws(DatabaseError)
        -> (statement: Statement?, end: Int)
    {
        let handle = try open()
        var statement: OpaquePointer?
        var end = text.count
        let code = text.withUnsafeBufferPointer { text in
            guard let base = text.baseAddress else { return SQLITE_MISUSE }
            var tail: UnsafePointer<CChar>?
            defer { if let tail { end = tail - base } }
            return sqlite3_prepare_v3(handle, base + start, Int32(text.count - start), flags, &statement, &tail)
        }
        guard code == SQLITE_OK else { throw DatabaseError(code, handle) }
        return (statement.map { Statement($0, of: handle, in: self) }, end)
    }
}

// MARK: - Transactions

/// When a transaction takes its locks (https://sqlite.org/lang_transaction.html).
package enum TransactionKind: String, Sendable {
    /// With the first statement. For transactions that only read, which then see one state of the file until their end.
    case deferred = "BEGIN DEFERRED"
    /// At once, so that the transaction cannot fail later because another connection has changed the file.
    case immediate = "BEGIN IMMEDIATE"
}

extension Database {
    /// Commits what `body` does, or rolls it back if it throws or the commit fails. Transactions must not be nested.
    ///
    /// - Throws: ``DatabaseError``, or what `body` throws.
    package func inTransaction<Value>(_ kind: TransactionKind, _ body: () throws -> Value) throws -> Value {
        try cachedStatement(sql: kind.rawValue).execute()
        isInTransactionBlock = true
        defer { isInTransactionBlock = false }
        do {
            let value = try body()
            try cachedStatement(sql: "COMMIT").execute()
            return value
        } catch {
            isInTransactionBlock = false
            rollBack()
            throw error
        }
    }

    /// Refuses changes while `body` runs.
    package func withoutChanges<Value>(_ body: () throws -> Value) throws -> Value {
        try cachedStatement(sql: "PRAGMA query_only = 1").execute()
        defer { try? cachedStatement(sql: "PRAGMA query_only = 0").execute() }
        return try body()
    }

    private func rollBack() {
        // Some errors, such as that of a full device, have done it (sqlite3_get_autocommit).
        guard case .open(let handle) = state, sqlite3_get_autocommit(handle) == 0 else { return }
        try? cachedStatement(sql: "ROLLBACK").execute()
    }

    /// - Throws: ``ResultCode/abort`` if SQLite has rolled the transaction back that is running. Each statement would otherwise be
    ///   committed alone.
    func checkTransaction() throws(DatabaseError) {
        guard isInTransactionBlock, case .open(let handle) = state, sqlite3_get_autocommit(handle) != 0 else { return }
        throw DatabaseError(.abort, "the transaction was rolled back")
    }
}
#endif
