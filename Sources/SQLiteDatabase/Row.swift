#if Store
internal import CSQLite

/// The current row of a statement. It is lent to a closure, and its values are read from SQLite's own memory.
///
/// A column that is missing or has a value of another type is `nil`, because a file may be damaged, or another program may have
/// written it.
package struct Row: ~Copyable {
    private let handle: OpaquePointer
    private let statement: Statement

    init(_ handle: OpaquePointer, of statement: Statement) {
        self.handle = handle
        self.statement = statement
    }

    /// Returns a number. A floating-point value is one if it is whole.
    package func number(_ column: String) -> Int64? {
        guard let position = statement.position(of: column) else { return nil }
        return number(at: position)
    }

    /// Returns a text, or a blob that is valid UTF-8.
    package func text(_ column: String) -> String? {
        guard let position = statement.position(of: column) else { return nil }
        return text(at: position)
    }

    /// Returns a copy of a blob, or of the UTF-8 of a text.
    package func bytes(_ column: String) -> [UInt8]? {
        guard let position = statement.position(of: column) else { return nil }
        return bytes(at: position)
    }

    /// Returns the number in a column, counted from 0.
    package func number(at position: Int) -> Int64? {
        switch sqlite3_column_type(handle, Int32(position)) {
        case SQLITE_INTEGER: sqlite3_column_int64(handle, Int32(position))
        case SQLITE_FLOAT: Int64(exactly: sqlite3_column_double(handle, Int32(position)))
        default: nil
        }
    }

    /// Returns the text in a column, counted from 0. Invalid UTF-8 in a text is replaced.
    package func text(at position: Int) -> String? {
        switch sqlite3_column_type(handle, Int32(position)) {
        case SQLITE_TEXT:
            // In this order: the count is that of the text that the first call has converted.
            let text = sqlite3_column_text(handle, Int32(position))
            let count = Int(sqlite3_column_bytes(handle, Int32(position)))
            return String(decoding: UnsafeBufferPointer(start: text, count: text == nil ? 0 : count), as: UTF8.self)
        case SQLITE_BLOB: return bytes(at: position).flatMap { String(validating: $0, as: UTF8.self) }
        default: return nil
        }
    }

    /// Returns a copy of the bytes in a column, counted from 0.
    package func bytes(at position: Int) -> [UInt8]? {
        switch sqlite3_column_type(handle, Int32(position)) {
        case SQLITE_BLOB, SQLITE_TEXT:
            // SQLite has no memory for an empty value.
            let bytes = sqlite3_column_blob(handle, Int32(position))
            let count = Int(sqlite3_column_bytes(handle, Int32(position)))
            return [UInt8](UnsafeRawBufferPointer(start: bytes, count: bytes == nil ? 0 : count))
        default: return nil
        }
    }
}

// MARK: - Queries

extension Database {
    /// Calls `body` with each row of a query until it returns `false`.
    ///
    /// - Throws: ``DatabaseError``, or what `body` throws.
    package func forEachRow(
        sql: String,
        arguments: [(any StatementArgument)?] = [],
        _ body: (borrowing Row) throws -> Bool
    ) throws {
        try makeStatement(sql: sql).forEachRow(arguments, body)
    }

    /// Returns what `convert` makes of each row of a query, without `nil`.
    package func fetchAll<Value>(
        sql: String,
        arguments: [(any StatementArgument)?] = [],
        _ convert: (borrowing Row) throws -> Value?
    ) throws -> [Value] {
        var values: [Value] = []
        try forEachRow(sql: sql, arguments: arguments) { row in
            if let value = try convert(row) { values.append(value) }
            return true
        }
        return values
    }

    /// Returns what `convert` makes of the first row of a query, or `nil` if there is no row.
    package func fetchOne<Value>(
        sql: String,
        arguments: [(any StatementArgument)?] = [],
        _ convert: (borrowing Row) throws -> Value?
    ) throws -> Value? {
        var value: Value?
        try forEachRow(sql: sql, arguments: arguments) { row in
            value = try convert(row)
            return false
        }
        return value
    }

    /// Returns the number in the first column of the first row of a query, or `nil` if there is none.
    package func number(sql: String, arguments: [(any StatementArgument)?] = []) throws -> Int64? {
        try fetchOne(sql: sql, arguments: arguments) { $0.number(at: 0) }
    }
}
#endif
