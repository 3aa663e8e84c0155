import Foundation
import SQLiteDatabase
import Signalbox
import SignalboxCore
import SignalboxTesting
import TestSupport
import Testing

@testable import SignalboxStore

/// The file: who may open it, what it refuses, and what happens to a damaged one.
@Suite(.timeLimit(.minutes(10))) struct StoreFileTests {
    /// Returns the reason why a store cannot be opened, or `nil`.
    private func reason(_ path: String) -> StoreError.Code? {
        do throws(StoreError) {
            try Store(path: path).close()
            return nil
        } catch {
            return error.code
        }
    }

    @Test func aSecondStoreIsRefusedWithTheHolder() throws {
        let folder = try StoreFolder()
        let store = try Store(path: folder.store)
        do {
            _ = try Store(path: folder.store)
            Issue.record("the store was opened twice")
        } catch {
            #expect(error.code == .inUse)
            #expect(error.description.contains("process \(ProcessInfo.processInfo.processIdentifier)"))
        }
        #expect(try StoreAdministration(path: folder.store).holder == ProcessInfo.processInfo.processIdentifier)
        try store.close()
        #expect(try StoreAdministration(path: folder.store).holder == nil)
        try Store(path: folder.store).close()
    }

    @Test func otherFilesAreRefusedAndStayAsTheyAre() throws {
        let folder = try StoreFolder()
        let text = Data("this is no database, but long enough to be looked at as one".utf8)
        try text.write(to: URL(fileURLWithPath: folder.store))
        #expect(reason(folder.store) == .damaged)
        #expect(try Data(contentsOf: URL(fileURLWithPath: folder.store)) == text)
        let other = folder.path + "/other.db"
        try DatabaseQueue(path: other).write { try $0.execute(sql: "CREATE TABLE mine(x)") }
        #expect(reason(other) == .damaged)
        #expect(reason(folder.path + "/no/folder/x.db") == .unavailable)
        #expect(throws: StoreError.self) { try StoreAdministration(path: folder.path + "/none.db") }
    }

    @Test func aFileOfALaterVersionIsRefused() throws {
        let folder = try StoreFolder()
        let store = try Store(path: folder.store)
        let next = StoreSchema.version + 1
        try store.pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA user_version = \(next)") }
        try store.close()
        do {
            _ = try Store(path: folder.store)
            Issue.record("a later version was opened")
        } catch {
            #expect(error.code == .newer)
            #expect(error.description.contains("later version"))
        }
    }

    @Test func aCleanEndAndACrashAreToldApart() throws {
        let folder = try StoreFolder()
        let store = try Store(path: folder.store)
        #expect(!store.wasInterrupted)
        let copy = try folder.copyAsCrashed(to: "crashed.db")
        let crashed = try Store(path: copy)
        #expect(crashed.wasInterrupted)
        #expect(crashed.secret == store.secret)
        try crashed.close()
        try store.close()
        let again = try Store(path: folder.store)
        #expect(!again.wasInterrupted)
        try again.close()
    }

    @Test func aBackupIsCompleteInItself() async throws {
        let folder = try StoreFolder()
        let copy = folder.path + "/copy.db"
        try await run(at: folder.store, { _ in }) { adapter in
            #expect(await adapter.send("payment").code == "unknownAction")
            try StoreAdministration(path: folder.store).backup(to: copy)
        }
        let backup = try StoreAdministration(path: copy)
        #expect(try backup.info().deadLetters == 1)
        #expect(try backup.check().isEmpty)
        #expect(throws: StoreError.self) { try backup.backup(to: copy) }
    }

    @Test func anOpenStoreIsCopiedAndLeavesNoLog() async throws {
        let folder = try StoreFolder()
        let copy = folder.path + "/copy.db"
        let store = try Store(path: folder.store)
        await withUnsafeContinuation { continuation in store.append(payments(0..<3)) { _ in continuation.resume() } }
        try store.backup(to: copy)
        #expect(throws: StoreError.self) { try store.backup(to: copy) }
        #expect(try await store.journalUse(of: "push", upTo: .max).rows == 3)
        try store.close()
        #expect(!FileManager.default.fileExists(atPath: folder.store + "-wal"))
        await #expect(throws: StoreError.self) { try await store.oldest(of: "push") }
        let backup = try StoreAdministration(path: copy)
        #expect(try backup.info().journal["push"]?.rows == 3)
        #expect(try backup.check().isEmpty)
    }
}

/// Returns arrivals with payments of these amounts.
func payments(_ amounts: Range<Int>) -> [Arrival] {
    var batch = ArrivalBatch(pool: ArrivalPool())
    let origin = Origin(source: "push", facts: InMemoryFacts())
    for amount in amounts {
        let text = Array(#"{"action":"payment","id":"p-\#(amount)","body":{"amount":\#(amount)}}"#.utf8)
        text.withUnsafeBytes {
            batch.append($0, token: UInt64(amount), origin: origin, receivedAt: WallTime(seconds: 1_000))
        }
    }
    return batch.take()
}
