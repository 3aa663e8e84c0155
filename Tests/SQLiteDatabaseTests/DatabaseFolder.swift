import Foundation
import SQLiteDatabase

/// A folder of a test, which is deleted with this object.
final class DatabaseFolder: Sendable {
    let path: String

    init() throws {
        path = FileManager.default.temporaryDirectory.appendingPathComponent("sqlite-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// The path of the database.
    var file: String { path + "/test.db" }

    /// Opens the database, with the table `t(x UNIQUE)`.
    func queue(_ options: DatabaseOptions = DatabaseOptions()) throws -> DatabaseQueue {
        let queue = try DatabaseQueue(path: file, options: options)
        try queue.write { try $0.execute(sql: "CREATE TABLE IF NOT EXISTS t(x UNIQUE)") }
        return queue
    }
}

extension Database {
    /// The number of rows of the table.
    func rows() throws -> Int64? { try number(sql: "SELECT COUNT(*) FROM t") }

    func insert(_ value: (any StatementArgument)?) throws {
        try execute(sql: "INSERT INTO t VALUES (?)", arguments: [value])
    }
}
