#if Store
internal import SQLiteDatabase
import SignalboxCore

/// Opens a store's file, and looks after it as a whole.
enum StoreFile {
    /// How long a change waits for another process, such as a command that deletes letters.
    private static let busyTimeout = Duration.seconds(10)

    static let options = DatabaseOptions(busyTimeout: busyTimeout, label: "signalbox.store")

    /// Examines the files of a store that no process uses, before SQLite opens them and drops what it cannot read.
    ///
    /// - Throws: ``StoreError`` if messages that were committed cannot be read.
    static func logEnd(of path: String) throws(StoreError) -> WriteAheadLog.End {
        let file = StoreLock.resolved(path)
        if isCut(file) { throw StoreError(cut: path) }
        let end = WriteAheadLog.end(of: file)
        if case .damaged(let position) = end { throw StoreError(damagedLogOf: path, at: position) }
        return end
    }

    /// Returns whether a file was cut in the middle of its last page. SQLite would read the rest of that page as zeros.
    ///
    /// This is normal while there is a log, which has the page until the file is synced.
    private static func isCut(_ path: String) -> Bool {
        guard DiskFile.size(of: path + "-wal") == 0, let file = DiskFile(path), file.size > 0,
            let header = file.read(18)
        else { return false }
        guard header.count == 18 else { return true }
        guard header.starts(with: "SQLite format 3\0".utf8) else { return false }
        let pageSize = header.suffix(2).reduce(0) { $0 << 8 | Int($1) }
        // The size 1 stands for 65,536. SQLite refuses sizes that are no powers of two.
        return file.size % max(pageSize == 1 ? 65_536 : pageSize, 1) != 0
    }

    /// Notes that a program uses the store.
    ///
    /// - Returns: The secret, and whether the program before did not close the store.
    static func start(_ db: Database) throws -> (secret: StoreSecret, wasInterrupted: Bool) {
        var secret = try secret(db)
        if secret == nil {
            let words = (0..<3).map { _ in UInt64.random(in: .min ... .max) }
            let text = words.map(String.init).joined(separator: " ")
            try db.execute(sql: "INSERT OR REPLACE INTO meta VALUES ('secret', ?)", arguments: [text])
            secret = StoreSecret(words: words)
        }
        // Wrong totals in a file that was changed by hand would delete letters.
        try db.execute(
            sql:
                "UPDATE dead_letter_totals SET (count, bytes) = (SELECT COUNT(*), IFNULL(SUM(size), 0) FROM dead_letters)"
        )
        let wasRunning = try db.count(sql: "SELECT value FROM meta WHERE key = 'running'")
        try db.execute(sql: "INSERT OR REPLACE INTO meta VALUES ('running', 1)")
        return (secret ?? StoreSecret(words: [0, 0, 0]), wasRunning != 0)
    }

    private static func secret(_ db: Database) throws -> StoreSecret? {
        let text = try db.fetchOne(sql: "SELECT value FROM meta WHERE key = 'secret'") { $0.text(at: 0) } ?? ""
        let words = text.split(separator: " ").compactMap { UInt64($0) }
        return words.count == 3 ? StoreSecret(words: words) : nil
    }

    /// Copies a store to a new file.
    static func backup(_ source: any DatabaseReader, _ path: String, to copy: String) throws(StoreError) {
        guard !DiskFile.exists(copy) else {
            throw StoreError(.unavailable, "\(copy): the file exists; name another one")
        }
        do {
            // One statement copies a consistent state, without the free pages.
            try source.readWithoutTransaction { db in try db.execute(sql: "VACUUM INTO ?", arguments: [copy]) }
        } catch {
            throw StoreError(error, path: copy)
        }
    }
}
#endif
