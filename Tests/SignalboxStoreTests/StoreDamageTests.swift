import Foundation
import SQLiteDatabase
import SignalboxCore
import TestSupport
import Testing

@testable import SignalboxStore

/// Files that were cut or changed. What is read is what was committed before the damage, or an error says what is wrong.
///
/// With `SIGNALBOX_EVERY_BYTE` in the environment, files are cut at every byte. Otherwise it is those where something begins or
/// ends, and a part of the others.
@Suite(.timeLimit(.minutes(30))) struct StoreDamageTests {
    private static let isEveryByte = ProcessInfo.processInfo.environment["SIGNALBOX_EVERY_BYTE"] != nil

    @Test func aLogThatIsCutAnywhereLosesOnlyWhatIsNotWhole() async throws {
        let crashed = try await CrashedStore()
        try await crashed.each(positions(upTo: crashed.log.count + 1)) { cut in
            let left = try crashed.open(log: crashed.log.prefix(cut))
            let events = left.events
            let use = try await left.store.journalUse(of: "push", upTo: .max)
            let messages = try await left.store.unfinished(of: "push", after: 0, count: 1_000, bytes: .max)
            try left.close()
            #expect(use.rows == crashed.rows(before: cut), "cut at byte \(cut)")
            #expect(messages.map(\.row) == (0..<Int64(use.rows)).map { $0 + 1 }, "cut at byte \(cut)")
            #expect(events == (crashed.isBoundary(cut) ? [] : [.logTorn]), "cut at byte \(cut)")
        }
    }

    @Test func aFileThatIsCutAnywhereIsReported() async throws {
        let crashed = try await CrashedStore()
        let whole = try crashed.checkpointed()
        try await crashed.each(positions(upTo: whole.count)) { cut in
            do {
                let left = try crashed.open(file: whole.prefix(cut), log: Data())
                try left.close()
                #expect(cut == 0, "a store that was cut at byte \(cut) was opened")
            } catch let error as StoreError {
                #expect(error.code == .damaged, "cut at byte \(cut): \(error)")
            }
        }
    }

    @Test func aLogWithAChangedByteEndsThereOrIsReported() async throws {
        let crashed = try await CrashedStore()
        var generator = SeededGenerator(printing: .random(in: .min ... .max))
        let bit = UInt8.random(in: 0..<8, using: &generator)
        try await crashed.each(positions(upTo: crashed.log.count, every: 13)) { position in
            let remark: Comment = "byte \(position), bit \(bit)"
            var log = crashed.log
            log[position] ^= 1 << bit
            let commit = crashed.rows(before: position) / CrashedStore.batch
            do {
                let left = try crashed.open(log: log)
                let events = left.events
                let rows = try await left.store.journalUse(of: "push", upTo: .max).rows
                try left.close()
                #expect(events == [.logTorn], remark)
                #expect(commit >= CrashedStore.commits - 2 && rows == crashed.rows(before: position), remark)
            } catch let error as StoreError {
                #expect(error.code == .damaged, remark)
                #expect(error.description.contains("-wal"), remark)
            }
        }
    }

    /// A command that opens the files would let SQLite drop the log.
    @Test func aCommandLeavesADamagedLogAsItIs() async throws {
        let crashed = try await CrashedStore()
        let path = crashed.folder.path + "/messages-damaged.db"
        var log = crashed.log
        log[crashed.ends[2] + 30] ^= 1
        try crashed.file.write(to: URL(fileURLWithPath: path))
        try log.write(to: URL(fileURLWithPath: path + "-wal"))
        let error = #expect(throws: StoreError.self) { try StoreAdministration(path: path) }
        #expect(error?.code == .damaged)
        #expect(try Data(contentsOf: URL(fileURLWithPath: path + "-wal")) == log)
    }

    /// SQLite has no checksums in its file, so a changed message is not noticed. Nothing may trap.
    @Test func aFileWithAChangedByteEndsInAnErrorOrInMessages() async throws {
        let crashed = try await CrashedStore()
        let whole = try crashed.checkpointed()
        var generator = SeededGenerator(printing: .random(in: .min ... .max))
        let bit = UInt8.random(in: 0..<8, using: &generator)
        try await crashed.each(positions(upTo: whole.count, every: 13)) { position in
            var file = whole
            file[position] ^= 1 << bit
            do {
                let left = try crashed.open(file: file, log: Data())
                _ = try? await left.store.unfinished(of: "push", after: 0, count: 1_000, bytes: .max)
                try? left.close()
            } catch let error as StoreError {
                #expect(error.description.contains("messages"), "byte \(position), bit \(bit): \(error)")
            }
        }
    }

    /// After a checkpoint the log begins again, over frames of which SQLite needs nothing.
    @Test func framesOfAnEarlierGenerationAreNormal() async throws {
        let crashed = try await CrashedStore()
        let store = try Store(path: crashed.folder.store)
        try await store.append(0..<100)
        let length = try Data(contentsOf: URL(fileURLWithPath: crashed.folder.store + "-wal")).count
        try store.pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA wal_checkpoint(RESTART)") }
        try await store.append(100..<101)
        let copy = try crashed.folder.copyAsCrashed(to: "messages-again.db")
        try store.close()
        #expect(try Data(contentsOf: URL(fileURLWithPath: copy + "-wal")).count == length)
        #expect(WriteAheadLog.end(of: copy) == .committed)
    }

    /// What a crash has left behind the last commit must not be taken for a torn commit after the next crash.
    @Test func aCommitWithoutItsEndIsDroppedForGood() async throws {
        let crashed = try await CrashedStore()
        let left = try crashed.open(log: crashed.log.prefix(crashed.ends[6] + 2 * CrashedStore.frame))
        let copy = try crashed.folder.copyAsCrashed(left.path, to: "messages-twice.db")
        #expect(left.events == [])
        try left.close()
        #expect(WriteAheadLog.end(of: copy) == .committed)
    }

    @Test func aLogThatIsTooLargeIsLeftToSQLite() throws {
        let folder = try StoreFolder()
        let path = folder.store + "-wal"
        #expect(FileManager.default.createFile(atPath: path, contents: nil))
        let file = try #require(FileHandle(forWritingAtPath: path))
        try file.truncate(atOffset: UInt64(WriteAheadLog.maximumSize) + 1)
        #expect(WriteAheadLog.end(of: folder.store) == .committed)
        try file.truncate(atOffset: UInt64(WriteAheadLog.maximumSize))
        #expect(WriteAheadLog.end(of: folder.store) == .torn)
        try file.close()
    }

    /// Returns the positions that are tried.
    ///
    /// - Parameter step: The distance of positions if every byte is wanted.
    private func positions(upTo end: Int, every step: Int = 1) -> [Int] {
        let stride = StoreDamageTests.isEveryByte ? step : 997
        return (0..<end).filter { position in
            // A few bytes of each frame's header, the log's own header, and the end.
            let isHeader = (0..<24).contains((position - 32) % CrashedStore.frame) && position % 17 == 0
            return position % stride == 0 || position < 64 || position > end - 64 || isHeader
        }
    }
}

/// A store with messages that are only in its log, as after a crash, with small pages.
private final class CrashedStore: Sendable {
    static let batch = 25
    static let commits = 8
    private static let pageSize = 512
    static let frame = pageSize + 24

    let folder: StoreFolder
    let file: Data
    let log: Data
    /// The sizes of the log after each commit.
    let ends: [Int]

    init() async throws {
        let folder = try StoreFolder(isInMemory: true)
        try DatabaseQueue(path: folder.store).writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA page_size = \(CrashedStore.pageSize); VACUUM")
        }
        try Store(path: folder.store).close()
        let store = try Store(path: folder.store)
        var ends: [Int] = []
        for commit in 0..<CrashedStore.commits {
            try await store.append(commit * CrashedStore.batch..<(commit + 1) * CrashedStore.batch)
            ends.append(try Data(contentsOf: URL(fileURLWithPath: folder.store + "-wal")).count)
        }
        file = try Data(contentsOf: URL(fileURLWithPath: folder.store))
        log = try Data(contentsOf: URL(fileURLWithPath: folder.store + "-wal"))
        self.ends = ends
        self.folder = folder
        try store.close()
        #expect(log.count > 10_000 && log.count == ends.last && (log.count - 32) % CrashedStore.frame == 0)
    }

    /// Returns how many messages were committed by the bytes before a position.
    func rows(before position: Int) -> Int { ends.count { $0 <= position } * CrashedStore.batch }

    /// Returns whether a log that ends at a position ends with a whole frame.
    func isBoundary(_ position: Int) -> Bool {
        position == 0 || position >= 32 && (position - 32) % CrashedStore.frame == 0
    }

    /// Returns a file that has everything.
    func checkpointed() throws -> Data {
        let left = try open(log: log)
        try left.store.close()
        return try Data(contentsOf: URL(fileURLWithPath: left.path))
    }

    /// Opens a store with these files.
    func open(file: Data? = nil, log: Data) throws -> OpenStore {
        let path = folder.path + "/messages-\(UUID().uuidString).db"
        try (file ?? self.file).write(to: URL(fileURLWithPath: path))
        if !log.isEmpty { try log.write(to: URL(fileURLWithPath: path + "-wal")) }
        do {
            return OpenStore(path: path, store: try Store(path: path))
        } catch {
            OpenStore.remove(path)
            throw error
        }
    }

    /// Tries positions on all processors.
    func each(_ positions: [Int], _ body: @escaping @Sendable (Int) async throws -> Void) async throws {
        let width = 4
        try await withThrowingTaskGroup(of: Void.self) { group in
            for start in 0..<width {
                group.addTask {
                    for position in stride(from: start, to: positions.count, by: width) {
                        try await body(positions[position])
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}

private struct OpenStore: Sendable {
    let path: String
    let store: Store

    /// The events that were found when the store was opened.
    var events: [StoreEvent] {
        let events = EventList<StoreEvent>()
        store.observe { events.append($0) }
        return events.all
    }

    func close() throws {
        defer { OpenStore.remove(path) }
        try store.close()
    }

    static func remove(_ path: String) {
        for suffix in ["", "-wal", "-shm", ".lock"] { try? FileManager.default.removeItem(atPath: path + suffix) }
    }
}

extension Store {
    /// Appends payments, and returns when they are on disk.
    fileprivate func append(_ amounts: Range<Int>) async throws {
        await withUnsafeContinuation { continuation in append(payments(amounts)) { _ in continuation.resume() } }
    }
}
