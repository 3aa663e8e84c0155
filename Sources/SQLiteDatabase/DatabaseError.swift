#if Store
internal import CSQLite

/// What SQLite reports, in its own numbers (https://sqlite.org/rescode.html).
package struct ResultCode: RawRepresentable, Sendable, Hashable {
    package let rawValue: Int32

    package init(rawValue: Int32) { self.rawValue = rawValue }

    /// The code without the details of an extended one, such as ``ioError`` for a read that failed.
    package var primary: ResultCode { ResultCode(rawValue: rawValue & 0xFF) }

    /// Another connection has a lock, and had it longer than the busy timeout.
    package static let busy = ResultCode(rawValue: SQLITE_BUSY)
    /// Another statement of the same connection has a lock.
    package static let locked = ResultCode(rawValue: SQLITE_LOCKED)
    /// There is no memory.
    package static let noMemory = ResultCode(rawValue: SQLITE_NOMEM)
    /// The file or the connection is for reading only.
    package static let readOnly = ResultCode(rawValue: SQLITE_READONLY)
    /// The system could not read, write or sync the file.
    package static let ioError = ResultCode(rawValue: SQLITE_IOERR)
    /// The file is damaged.
    package static let corrupt = ResultCode(rawValue: SQLITE_CORRUPT)
    /// There is no space on the device, or the file has its maximum size.
    package static let full = ResultCode(rawValue: SQLITE_FULL)
    /// The file could not be opened.
    package static let cannotOpen = ResultCode(rawValue: SQLITE_CANTOPEN)
    /// The file is no database.
    package static let notADatabase = ResultCode(rawValue: SQLITE_NOTADB)
    /// A value violates a constraint of its table.
    package static let constraint = ResultCode(rawValue: SQLITE_CONSTRAINT)
    /// A value that must be unique is there already. This is an extended code.
    package static let uniqueConstraint = ResultCode(rawValue: SQLITE_CONSTRAINT | 8 << 8)
    /// SQLite rolled the transaction back before its end.
    package static let abort = ResultCode(rawValue: SQLITE_ABORT)
    /// The connection is closed, or a statement received another number of values than it has parameters.
    package static let misuse = ResultCode(rawValue: SQLITE_MISUSE)
    /// The SQL is wrong, or the error has no other code.
    package static let error = ResultCode(rawValue: SQLITE_ERROR)
}

/// A call of SQLite that failed.
package struct DatabaseError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The code with its details.
    package let extendedResultCode: ResultCode
    /// What happened, as SQLite says it.
    package let message: String

    /// The code without details, on which callers decide.
    package var resultCode: ResultCode { extendedResultCode.primary }

    /// The message and the code.
    package var description: String { "\(message) (SQLite \(extendedResultCode.rawValue))" }

    package init(_ code: ResultCode, _ message: String) {
        extendedResultCode = code
        self.message = message
    }

    /// Creates the error for a code that a function returned.
    ///
    /// - Parameter connection: The connection that was used, whose last error is this one, or `nil` without one.
    init(_ code: Int32, _ connection: OpaquePointer?) {
        let text = connection.flatMap(sqlite3_errmsg) ?? sqlite3_errstr(code)
        self.init(ResultCode(rawValue: code), text.map { String(cString: $0) } ?? "unknown error")
    }

    static let closed = DatabaseError(.misuse, "the connection is closed")
}
#endif
