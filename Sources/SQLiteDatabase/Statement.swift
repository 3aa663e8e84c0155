#if Store
internal import CSQLite

/// A value that can be bound to a parameter of a statement.
package protocol StatementArgument {
    /// Calls the method of the statement that binds this value.
    func bind(to statement: Statement, at position: Int) throws(DatabaseError)
}

/// A compiled statement. Like its connection, it must be used by one thread at a time, and it must not outlive it.
package final class Statement {
    private let handle: OpaquePointer
    private let connection: OpaquePointer
    private unowned let database: Database
    private var columns: [String: Int] = [:]

    /// Whether its rows are being read.
    var isBusy: Bool { sqlite3_stmt_busy(handle) != 0 }

    init(_ handle: OpaquePointer, of connection: OpaquePointer, in database: Database) {
        self.handle = handle
        self.connection = connection
        self.database = database
    }

    deinit { sqlite3_finalize(handle) }

    /// Executes the statement, and ignores its rows.
    ///
    /// - Parameter arguments: A value for each `?`. `nil` is NULL.
    package func execute(_ arguments: [(any StatementArgument)?] = []) throws(DatabaseError) {
        defer { reset() }
        try bind(arguments)
        while try step() {}
    }

    /// Calls `body` with each row until it returns `false`.
    ///
    /// - Parameter arguments: A value for each `?`. `nil` is NULL.
    /// - Throws: ``DatabaseError``, or what `body` throws.
    package func forEachRow(
        _ arguments: [(any StatementArgument)?] = [],
        _ body: (borrowing Row) throws -> Bool
    ) throws {
        defer { reset() }
        try bind(arguments)
        columns = [:]
        while try step(), try body(Row(handle, of: self)) {}
    }

    /// Returns the position of a column, or `nil` if no column has this name. If several do, the first one counts.
    func position(of column: String) -> Int? {
        if columns.isEmpty {
            for position in (0..<Int(sqlite3_column_count(handle))).reversed() {
                guard let name = sqlite3_column_name(handle, Int32(position)) else { continue }
                columns[String(cString: name)] = position
            }
        }
        return columns[column]
    }

    private func step() throws(DatabaseError) -> Bool {
        let code = sqlite3_step(handle)
        if code == SQLITE_ROW { return true }
        guard code == SQLITE_DONE else { throw DatabaseError(code, connection) }
        return false
    }

    /// Ends the execution, and releases the copies of the values.
    private func reset() {
        // The code is that of the last step, which has been thrown.
        sqlite3_reset(handle)
        sqlite3_clear_bindings(handle)
    }

    // MARK: - Binding

    private func bind(_ arguments: [(any StatementArgument)?]) throws(DatabaseError) {
        try database.checkTransaction()
        let count = Int(sqlite3_bind_parameter_count(handle))
        guard arguments.count == count else {
            throw DatabaseError(.misuse, "a statement with \(count) parameters received \(arguments.count) values")
        }
        for (offset, argument) in arguments.enumerated() {
            // Parameters without a value are NULL.
            try argument?.bind(to: self, at: offset + 1)
        }
    }

    /// Binds a number.
    ///
    /// - Parameter position: The position of the parameter, from 1.
    package func bind(_ number: Int64, at position: Int) throws(DatabaseError) {
        try check(sqlite3_bind_int64(handle, Int32(position), number))
    }

    /// Binds a text of UTF-8, which SQLite copies.
    package func bind(text: UnsafeRawBufferPointer, at position: Int) throws(DatabaseError) {
        try check(csqlite_bind_text(handle, Int32(position), text.baseAddress, UInt64(text.count)))
    }

    /// Binds bytes, which SQLite copies.
    package func bind(blob: UnsafeRawBufferPointer, at position: Int) throws(DatabaseError) {
        try check(csqlite_bind_blob(handle, Int32(position), blob.baseAddress, UInt64(blob.count)))
    }

    private func check(_ code: Int32) throws(DatabaseError) {
        if code != SQLITE_OK { throw DatabaseError(code, connection) }
    }
}

// MARK: - Arguments

extension Int64: StatementArgument {
    package func bind(to statement: Statement, at position: Int) throws(DatabaseError) {
        try statement.bind(self, at: position)
    }
}

extension Int: StatementArgument {
    package func bind(to statement: Statement, at position: Int) throws(DatabaseError) {
        try statement.bind(Int64(self), at: position)
    }
}

extension Bool: StatementArgument {
    package func bind(to statement: Statement, at position: Int) throws(DatabaseError) {
        try statement.bind(self ? 1 : 0, at: position)
    }
}

extension String: StatementArgument {
    package func bind(to statement: Statement, at position: Int) throws(DatabaseError) {
        var text = self
        // The method has no typed error.
        let result = text.withUTF8 { utf8 in
            Result { () throws(DatabaseError) in try statement.bind(text: UnsafeRawBufferPointer(utf8), at: position) }
        }
        try result.get()
    }
}

extension [UInt8]: StatementArgument {
    package func bind(to statement: Statement, at position: Int) throws(DatabaseError) {
        let result = withUnsafeBytes { bytes in
            Result { () throws(DatabaseError) in try statement.bind(blob: bytes, at: position) }
        }
        try result.get()
    }
}
#endif
