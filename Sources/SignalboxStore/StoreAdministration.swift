#if Store
internal import SQLiteDatabase
import SignalboxCore

/// Looks into a store's file and changes its dead letters, even while another process runs with the store.
///
/// All methods block until the disk has answered, and a change waits up to 10 s for the running process.
public final class StoreAdministration: Sendable {
    /// The path of the file.
    public let path: String
    private let queue: DatabaseQueue

    /// Opens the file of a store.
    ///
    /// - Throws: ``StoreError`` if there is no such file, or if it is not a store, is damaged or of a later version.
    public init(path: String) throws(StoreError) {
        guard DiskFile.exists(path) else {
            throw StoreError(.unavailable, "\(path): there is no such file; a run with 'store: \(path)' creates it")
        }
        self.path = path
        // A process that runs with the store changes its log meanwhile.
        if StoreLock.holder(of: path) == nil { _ = try StoreFile.logEnd(of: path) }
        do {
            queue = try DatabaseQueue(path: path, options: StoreFile.options)
            try queue.writeWithoutTransaction { db in try StoreSchema.migrate(db, path: path) }
        } catch {
            throw StoreError(error, path: path)
        }
    }

    /// The process that runs with the store, or `nil` if none does. The value is 0 if the process is unknown.
    public var holder: Int32? { StoreLock.holder(of: path) }

    func read<Value>(_ body: (Database) throws -> Value) throws(StoreError) -> Value {
        do { return try queue.read(body) } catch { throw StoreError(error, path: path) }
    }

    func write<Value>(_ body: (Database) throws -> Value) throws(StoreError) -> Value {
        do { return try queue.write(body) } catch { throw StoreError(error, path: path) }
    }

    /// Copies the store to a new file, which is complete in itself.
    ///
    /// - Throws: ``StoreError`` if the file exists or cannot be written.
    public func backup(to copy: String) throws(StoreError) {
        try StoreFile.backup(queue, path, to: copy)
    }
}

// MARK: - The whole file

extension StoreAdministration {
    /// Returns what the store contains.
    ///
    /// - Throws: ``StoreError`` if the file cannot be read.
    public func info() throws(StoreError) -> StoreInfo {
        let path = path
        return try read { db in
            var info = StoreInfo()
            info.version = try db.count(sql: "PRAGMA user_version")
            info.fileBytes = DiskFile.size(of: path) + DiskFile.size(of: path + "-wal")
            try db.forEachRow(
                sql: """
                    SELECT name, COUNT(*) AS rows, SUM(LENGTH(original)) AS bytes, MAX(row) AS last
                    FROM journal JOIN sources ON sources.id = journal.source GROUP BY sources.id
                    """
            ) { row in
                guard let text = row.text("name"), let name = try? SourceName(text) else { return true }
                info.journal[name] = JournalUse(
                    rows: Int(row.number("rows") ?? 0),
                    bytes: Int(row.number("bytes") ?? 0),
                    lastRow: row.number("last") ?? 0
                )
                return true
            }
            (info.deadLetters, info.deadLetterBytes) = try StoreTables.totals(db)
            let replays = "SELECT COUNT(*) FROM dead_letters WHERE replay_at IS NOT NULL"
            info.replays = try db.count(sql: replays)
            info.handledIDs = try db.count(sql: "SELECT COUNT(*) FROM handled_ids")
            info.outcomes = try db.count(sql: "SELECT COUNT(*) FROM history")
            return info
        }
    }

    /// Checks every page of the file.
    ///
    /// - Returns: The faults that were found, at most 100, or an empty array.
    /// - Throws: ``StoreError`` if the file is damaged so much that it cannot be checked.
    public func check() throws(StoreError) -> [String] {
        try read { db in
            let found = try db.fetchAll(sql: "PRAGMA integrity_check(100)") { $0.text(at: 0) }
            return found == ["ok"] ? [] : found
        }
    }
}
#endif
