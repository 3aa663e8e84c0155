#if Store
internal import Dispatch

/// What can read a database.
package protocol DatabaseReader: Sendable {
    /// Calls `body` outside of a transaction, and waits for it.
    ///
    /// - Throws: ``DatabaseError``, or what `body` throws.
    func readWithoutTransaction<Value>(_ body: (Database) throws -> Value) throws -> Value
}

/// A connection and the queue on which it is used, so that it can be shared.
///
/// The methods without `async` in their names block until `body` has returned. They must not be called inside of each other.
package final class DatabaseQueue: DatabaseReader, @unchecked Sendable {
    // The connection is used on the queue only, or when nothing refers to this object any more.
    private let database: Database
    private let queue: DispatchQueue

    /// Opens a file, and creates it if it is missing.
    ///
    /// - Throws: ``DatabaseError`` if it cannot be opened or is no database.
    package convenience init(path: String, options: DatabaseOptions = DatabaseOptions()) throws {
        self.init(unopened: path, options: options)
        _ = try sync { db in try db.open() }
    }

    /// Creates a connection that opens the file at its first use.
    init(unopened path: String, options: DatabaseOptions) {
        database = Database(path: path, options: options)
        queue = DispatchQueue(label: options.label)
    }

    /// Calls `body` in a transaction that sees one state of the file and refuses changes.
    package func read<Value>(_ body: (Database) throws -> Value) throws -> Value {
        try sync { db in try db.withoutChanges { try db.inTransaction(.deferred) { try body(db) } } }
    }

    /// Calls `body` in a transaction that no other connection can disturb.
    package func write<Value>(_ body: (Database) throws -> Value) throws -> Value {
        try sync { db in try db.inTransaction(.immediate) { try body(db) } }
    }

    package func readWithoutTransaction<Value>(_ body: (Database) throws -> Value) throws -> Value { try sync(body) }

    /// Calls `body` outside of a transaction.
    package func writeWithoutTransaction<Value>(_ body: (Database) throws -> Value) throws -> Value { try sync(body) }

    /// Waits for calls in progress, and closes the file. Every later use of the connection throws ``ResultCode/misuse``.
    package func close() { queue.sync { database.close() } }

    func sync<Value>(_ body: (Database) throws -> Value) throws -> Value { try queue.sync { try body(database) } }

    /// Calls `body` on a thread of the queue, after all earlier calls.
    func async(_ body: @escaping @Sendable (Database) -> Void) {
        queue.async { [self] in body(database) }
    }
}
#endif
