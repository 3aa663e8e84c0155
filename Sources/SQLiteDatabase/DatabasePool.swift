#if Store
import Synchronization

/// One connection that changes a file with a write-ahead log, and a few that read it meanwhile.
///
/// A reader sees what was committed when it began, and does not wait for the writer.
package final class DatabasePool: DatabaseReader {
    /// They open the file at their first use. They are released before ``writer``, so that it is the one that empties the log.
    private let readers: [DatabaseQueue]
    /// The number of reads that each reader has not finished.
    private let unfinishedReads: Mutex<[Int]>
    private let writer: DatabaseQueue

    /// Opens a file, creates it if it is missing, and gives it a write-ahead log.
    ///
    /// - Throws: ``DatabaseError`` if it cannot be opened or is no database.
    package init(path: String, options: DatabaseOptions, readerCount: Int = 4) throws {
        precondition(readerCount > 0, "a pool has at least one reader")
        var (writing, reading) = (options, options)
        writing.label += ".writer"
        reading.label += ".reader"
        reading.isReadOnly = true
        readers = (0..<readerCount).map { [reading] _ in DatabaseQueue(unopened: path, options: reading) }
        unfinishedReads = Mutex(Array(repeating: 0, count: readerCount))
        writer = try DatabaseQueue(path: path, options: writing)
        try writer.sync { db in try db.useWriteAheadLog() }
    }

    /// Waits for calls in progress, and closes the file. Later reads and changes fail.
    package func close() {
        for reader in readers { reader.close() }
        writer.close()
    }

    // MARK: - Changes

    /// Calls `body` in a transaction, and waits for it.
    package func write<Value>(_ body: (Database) throws -> Value) throws -> Value { try writer.write(body) }

    /// Calls `body` with the writing connection, and waits for it.
    package func writeWithoutTransaction<Value>(_ body: (Database) throws -> Value) throws -> Value {
        try writer.sync(body)
    }

    /// Calls `body` with the writing connection on its own thread, after all earlier calls.
    package func asyncWriteWithoutTransaction(_ body: @escaping @Sendable (Database) -> Void) { writer.async(body) }

    // MARK: - Reading

    /// Calls `body` in a transaction that only reads, and then `completion`, both on a thread of the reader.
    package func asyncRead<Value>(
        _ body: @escaping @Sendable (Database) throws -> Value,
        completion: @escaping @Sendable (Result<Value, any Error>) -> Void
    ) {
        let index = beginRead()
        readers[index].async { [self] db in
            let result = Result { try db.inTransaction(.deferred) { try body(db) } }
            endRead(index)
            completion(result)
        }
    }

    package func readWithoutTransaction<Value>(_ body: (Database) throws -> Value) throws -> Value {
        let index = beginRead()
        defer { endRead(index) }
        return try readers[index].sync(body)
    }

    /// Returns the reader that has the least to do.
    private func beginRead() -> Int {
        unfinishedReads.withLock { counts in
            let index = counts.indices.min { counts[$0] < counts[$1] } ?? 0
            counts[index] += 1
            return index
        }
    }

    private func endRead(_ index: Int) { unfinishedReads.withLock { $0[index] -= 1 } }
}
#endif
