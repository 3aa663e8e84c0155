import SQLiteDatabase
import Testing

/// Values that are bound and read again, and statements that fail.
@Suite struct StatementTests {
    private let folder: DatabaseFolder
    private let queue: DatabaseQueue

    init() throws {
        folder = try DatabaseFolder()
        queue = try folder.queue()
    }

    /// Stores a value, and returns what `read` finds in its column.
    private func stored<Value>(_ value: (any StatementArgument)?, _ read: (borrowing Row) -> Value?) throws -> Value? {
        try queue.write { db in
            try db.execute(sql: "DELETE FROM t")
            try db.insert(value)
            return try db.fetchOne(sql: "SELECT x FROM t") { row in read(row) }
        }
    }

    @Test(arguments: [Int64.min, -1, 0, 1, .max]) func numbersKeepAllBits(number: Int64) throws {
        #expect(try stored(number) { $0.number("x") } == number)
        #expect(try stored(number) { $0.text("x") } == nil)
    }

    @Test(arguments: ["", "a", "with\u{0}zero", "grüße 👋🏽", String(repeating: "long ", count: 10_000)])
    func textsKeepEveryByte(text: String) throws {
        #expect(try stored(text) { $0.text("x") } == text)
        #expect(try stored(text) { $0.bytes("x") } == Array(text.utf8))
        #expect(try queue.read { try $0.fetchOne(sql: "SELECT typeof(x) FROM t") { $0.text(at: 0) } } == "text")
    }

    @Test(arguments: [[], [0], [0xFF, 0, 0xFE], [UInt8](repeating: 7, count: 100_000)]) func blobsKeepEveryByte(
        blob: [UInt8]
    )
        throws
    {
        #expect(try stored(blob) { $0.bytes("x") } == blob)
        #expect(try queue.read { try $0.fetchOne(sql: "SELECT typeof(x) FROM t") { $0.text(at: 0) } } == "blob")
    }

    @Test func aValueOfAnotherTypeIsNil() throws {
        #expect(try stored(nil) { $0.bytes("x") } == nil)
        #expect(try stored(nil) { $0.number("x") } == nil)
        #expect(try stored([0xFF] as [UInt8]) { $0.text("x") } == nil)
        #expect(try stored("12") { $0.number("x") } == nil)
        #expect(try stored(true) { $0.number("x") } == 1)
        #expect(try stored(1) { $0.number("none") } == nil)
        #expect(try queue.read { try $0.number(sql: "SELECT 2.0") } == 2)
        #expect(try queue.read { try $0.number(sql: "SELECT 2.5") } == nil)
    }

    @Test func ofColumnsWithOneNameTheFirstIsRead() throws {
        let values = try queue.read { db in
            try db.fetchOne(sql: "SELECT 1 AS a, 2 AS b, 3 AS a") {
                [$0.number("a"), $0.number("b"), $0.number(at: 2)]
            }
        }
        #expect(values == [1, 2, 3])
    }

    @Test func aCachedStatementKeepsNoValues() throws {
        try queue.write { db in
            for value in [1, 2] { try db.cachedStatement(sql: "INSERT INTO t VALUES (?)").execute([value]) }
            var inner: [Int64] = []
            // The statement is busy when it is used again.
            try db.cachedStatement(sql: "SELECT x FROM t").forEachRow { row in
                try db.cachedStatement(sql: "SELECT x FROM t").forEachRow { row in
                    inner.append(row.number(at: 0) ?? 0)
                    return true
                }
                return row.number(at: 0) != nil
            }
            #expect(inner == [1, 2, 1, 2])
        }
    }

    @Test func aTableThatChangesIsReadAgain() throws {
        try queue.write { db in
            try db.insert(1)
            let all = try db.cachedStatement(sql: "SELECT * FROM t")
            try all.forEachRow { $0.number("y") != nil }
            try db.execute(sql: "ALTER TABLE t ADD COLUMN y DEFAULT 5")
            var found: Int64?
            try all.forEachRow { row in
                found = row.number("y")
                return false
            }
            #expect(found == 5)
        }
    }

    @Test func severalStatementsAreExecutedInOrder() throws {
        try queue.write { db in
            try db.execute(sql: "INSERT INTO t VALUES (1); -- a remark; not a statement\n INSERT INTO t VALUES (2);\n ")
            #expect(try db.rows() == 2)
            try db.execute(sql: "DELETE FROM t")
            #expect(db.changesCount == 2)
        }
    }

    @Test func aDuplicateHasItsCode() throws {
        let error = #expect(throws: DatabaseError.self) {
            try queue.write { db in
                try db.insert("one")
                try db.insert("one")
            }
        }
        #expect(error?.resultCode == .constraint)
        #expect(error?.extendedResultCode == .uniqueConstraint)
        #expect(error?.message == "UNIQUE constraint failed: t.x")
        #expect(try queue.read { try $0.rows() } == 0)
    }

    @Test func wrongStatementsAreRefused() throws {
        for (sql, code) in [
            ("SELEC 1", ResultCode.error), ("INSERT INTO t VALUES (?)", .misuse), ("SELECT \"no column\"", .error),
        ] {
            let error = #expect(throws: DatabaseError.self) { try queue.write { try $0.execute(sql: sql) } }
            #expect(error?.resultCode == code, "\(sql)")
        }
        #expect(throws: DatabaseError.self) { try queue.write { try $0.execute(sql: "SELECT 1", arguments: [1]) } }
        #expect(throws: DatabaseError.self) { try queue.write { try $0.makeStatement(sql: " -- nothing").execute() } }
    }
}
