import Dispatch
import Foundation
import TestSupport
import Testing

@testable import SQLiteDatabase

private struct Stop: Error {}

/// Transactions, connections beside each other, and files that cannot be used.
@Suite(.timeLimit(.minutes(1))) struct ConnectionTests {
    @Test func aTransactionThatThrowsIsRolledBack() throws {
        let folder = try DatabaseFolder()
        let queue = try folder.queue()
        #expect(throws: Stop.self) {
            try queue.write { db in
                try db.insert(1)
                throw Stop()
            }
        }
        #expect(try queue.read { try $0.rows() } == 0)
        try queue.write { try $0.insert(1) }
        #expect(try queue.read { try $0.rows() } == 1)
    }

    @Test func aTransactionThatSQLiteHasEndedTakesNoMoreStatements() throws {
        let folder = try DatabaseFolder()
        let queue = try folder.queue()
        let error = #expect(throws: DatabaseError.self) {
            try queue.write { db in
                try db.insert(1)
                try? db.execute(sql: "INSERT OR ROLLBACK INTO t VALUES (1)")
                try db.insert(2)
            }
        }
        #expect(error?.resultCode == .abort)
        #expect(try queue.read { try $0.rows() } == 0)
    }

    @Test func aFullFileRollsBackAndCanBeUsedAgain() throws {
        let folder = try DatabaseFolder()
        let queue = try folder.queue()
        try queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA max_page_count = 10") }
        let error = #expect(throws: DatabaseError.self) {
            try queue.write { try $0.insert([UInt8](repeating: 0, count: 100_000)) }
        }
        #expect(error?.resultCode == .full)
        try queue.write { try $0.insert(1) }
        #expect(try queue.read { try $0.rows() } == 1)
    }

    @Test func readingRefusesChanges() throws {
        let folder = try DatabaseFolder()
        let queue = try folder.queue()
        let error = #expect(throws: DatabaseError.self) { try queue.read { try $0.insert(1) } }
        #expect(error?.resultCode == .readOnly)
        try queue.write { try $0.insert(1) }
    }

    @Test func aLockIsAwaitedForTheBusyTimeout() throws {
        let folder = try DatabaseFolder()
        let (first, second) = (try folder.queue(), try folder.queue(DatabaseOptions(busyTimeout: .milliseconds(50))))
        try first.write { db in
            try db.insert(1)
            let start = ContinuousClock.now
            let error = #expect(throws: DatabaseError.self) { try second.write { try $0.insert(2) } }
            #expect(error?.resultCode == .busy)
            #expect(ContinuousClock.now - start >= .milliseconds(50))
        }
        try second.write { try $0.insert(2) }
        #expect(try first.read { try $0.rows() } == 2)
    }

    @Test func aChangeThatWaitsForALockIsMade() throws {
        let folder = try DatabaseFolder()
        // The one that waits has a lock for a moment each time it tries, so the other one's commit may have to wait as well.
        let patient = DatabaseOptions(busyTimeout: .seconds(30))
        let (first, second) = (try folder.queue(patient), try folder.queue(patient))
        let isDone = DispatchSemaphore(value: 0)
        let results = EventList<Bool>()
        try first.write { db in
            second.async { db in
                results.append((try? db.inTransaction(.immediate) { try db.insert(2) }) != nil)
                isDone.signal()
            }
            try db.insert(1)
        }
        isDone.wait()
        #expect(results.all == [true])
        #expect(try first.read { try $0.rows() } == 2)
    }

    @Test func aReaderDoesNotSeeAnOpenTransaction() throws {
        let folder = try DatabaseFolder()
        _ = try folder.queue()
        let pool = try DatabasePool(path: folder.file, options: DatabaseOptions())
        try pool.write { db in
            try db.insert(1)
            #expect(try pool.readWithoutTransaction { try $0.rows() } == 0)
        }
        #expect(try pool.readWithoutTransaction { try $0.rows() } == 1)
        #expect(throws: DatabaseError.self) { try pool.readWithoutTransaction { try $0.insert(2) } }
    }

    @Test func readsBesideEachOtherEndBeforeThePoolIsClosed() async throws {
        let folder = try DatabaseFolder()
        _ = try folder.queue()
        let pool = try DatabasePool(path: folder.file, options: DatabaseOptions())
        try pool.write { try $0.insert(1) }
        let found = EventList<Int64?>()
        for _ in 0..<20 {
            pool.asyncRead {
                try $0.rows()
            } completion: { result in
                found.append(try? result.get())
            }
        }
        pool.close()
        #expect(found.all == Array(repeating: 1, count: 20))
        // The last connection has moved everything to the file.
        #expect(!FileManager.default.fileExists(atPath: folder.file + "-wal"))
        let error = await withCheckedContinuation { continuation in
            pool.asyncRead {
                try $0.rows()
            } completion: { result in
                continuation.resume(returning: Result { try result.get() }.failure)
            }
        }
        #expect(error?.resultCode == .misuse)
        #expect(throws: DatabaseError.self) { try pool.write { try $0.insert(2) } }
    }

    @Test func otherFilesAreRefusedAndStayAsTheyAre() throws {
        let folder = try DatabaseFolder()
        let text = Data("this is no database, but long enough to be looked at as one".utf8)
        try text.write(to: URL(fileURLWithPath: folder.file))
        let error = #expect(throws: DatabaseError.self) { try DatabaseQueue(path: folder.file) }
        #expect(error?.resultCode == .notADatabase)
        #expect(try Data(contentsOf: URL(fileURLWithPath: folder.file)) == text)
        let missing = #expect(throws: DatabaseError.self) { try DatabaseQueue(path: folder.path + "/none/x.db") }
        #expect(missing?.resultCode == .cannotOpen)
        let reading = DatabaseOptions(isReadOnly: true)
        #expect(throws: DatabaseError.self) { try DatabaseQueue(path: folder.path + "/none.db", options: reading) }
    }
}

extension Result {
    fileprivate var failure: DatabaseError? {
        guard case .failure(let error) = self else { return nil }
        return error as? DatabaseError
    }
}
