import CSQLiteLibrary
import Foundation

/// Inserts the same rows as the journal with SQLite's C interface, one transaction for each batch.
final class BareSQLite {
    private var connection: OpaquePointer?
    private var insert: OpaquePointer?
    private var row: Int64 = 0

    init(path: String) throws {
        try check(sqlite3_open(path, &connection))
        try run("PRAGMA journal_mode = WAL")
        try run("PRAGMA synchronous = FULL")
        try run(
            """
            CREATE TABLE journal(
                row INTEGER PRIMARY KEY, source INTEGER NOT NULL, received_at INTEGER NOT NULL, expires_at INTEGER,
                facts_kind TEXT NOT NULL, facts TEXT NOT NULL, action TEXT, message_id TEXT, has_sender_id INTEGER NOT NULL,
                envelope TEXT NOT NULL, payload TEXT NOT NULL, original BLOB NOT NULL, crashes INTEGER NOT NULL DEFAULT 0
            )
            """
        )
        try run("CREATE INDEX journal_by_source ON journal(source)")
        let columns =
            "row, source, received_at, facts_kind, facts, action, message_id, has_sender_id, envelope, payload, original"
        let sql =
            "INSERT INTO journal(\(columns)) VALUES (?,1,1000000000,'benchmark','{}','payment',?,1,'standard','json',?)"
        try check(sqlite3_prepare_v2(connection, sql, -1, &insert, nil))
    }

    deinit {
        sqlite3_finalize(insert)
        sqlite3_close(connection)
    }

    /// Inserts a batch in one transaction.
    func insert(_ messages: [[UInt8]], ids: [[UInt8]]) throws {
        try run("BEGIN IMMEDIATE")
        for (message, id) in zip(messages, ids) {
            row += 1
            sqlite3_bind_int64(insert, 1, row)
            try id.withUnsafeBufferPointer { id in
                try message.withUnsafeBufferPointer { message in
                    id.withMemoryRebound(to: CChar.self) {
                        _ = sqlite3_bind_text(insert, 2, $0.baseAddress, Int32($0.count), nil)
                    }
                    sqlite3_bind_blob(insert, 3, message.baseAddress, Int32(message.count), nil)
                    guard sqlite3_step(insert) == SQLITE_DONE else { throw failure }
                }
            }
            sqlite3_reset(insert)
        }
        try run("COMMIT")
    }

    private func run(_ sql: String) throws { try check(sqlite3_exec(connection, sql, nil, nil, nil)) }

    private func check(_ code: Int32) throws { if code != SQLITE_OK { throw failure } }

    private var failure: CocoaError {
        CocoaError(
            .fileWriteUnknown,
            userInfo: ["sqlite": connection.map { String(cString: sqlite3_errmsg($0)) } ?? ""]
        )
    }
}
