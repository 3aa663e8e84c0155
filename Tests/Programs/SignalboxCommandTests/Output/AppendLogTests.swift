import Foundation
import SignalboxCore
import Synchronization
import Testing

@testable import SignalboxCommand

@Suite struct AppendLogTests {
    private static func withPath(_ body: (String) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("append-log-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body(folder.appendingPathComponent("l.jsonl").path)
    }

    private static func log(_ path: String) throws(AppendLogError) -> LineCommitter {
        LineCommitter(appendingTo: try AppendLogFile(path: path))
    }

    private static func text(_ path: String) throws -> String {
        String(decoding: try FileContent.read(path, limit: 1 << 20).get(), as: UTF8.self)
    }

    @Test func linesAreAppendedToAPrivateFile() async throws {
        try await AppendLogTests.withPath { path in
            do {
                let log = try AppendLogTests.log(path)
                try await log.commit(Array("1\n".utf8))
                try await log.commit(Array("2\n".utf8))
            }
            #expect(try AppendLogTests.text(path) == "1\n2\n")
            let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
            #expect(mode == 0o600)
        }
    }

    @Test func concurrentLinesAreAllWritten() async throws {
        try await AppendLogTests.withPath { path in
            let log = try AppendLogTests.log(path)
            try await withThrowingTaskGroup { group in
                for number in 0..<500 { group.addTask { try await log.commit(Array("\(number)\n".utf8)) } }
                try await group.waitForAll()
            }
            let lines = try AppendLogTests.text(path).split(separator: "\n")
            #expect(Set(lines.compactMap { Int($0) }) == Set(0..<500))
        }
    }

    @Test func aTornLineIsEndedFirst() async throws {
        try await AppendLogTests.withPath { path in
            try Data("1\n{\"tor".utf8).write(to: URL(fileURLWithPath: path))
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
            try await AppendLogTests.log(path).commit(Array("2\n".utf8))
            #expect(try AppendLogTests.text(path) == "1\n{\"tor\n2\n")
        }
    }

    @Test func linesForARemovedFileAreGivenBack() async throws {
        try await AppendLogTests.withPath { path in
            let log = try AppendLogTests.log(path)
            try await log.commit(Array("1\n".utf8))
            try FileManager.default.removeItem(atPath: path)
            let failure = await #expect(throws: OutputFailure.self) { try await log.commit(Array("2\n".utf8)) }
            #expect(failure?.description.contains("was removed") == true)
            #expect(failure?.isRetryable == true)
            #expect(failure?.whenExhausted == .abandon)
        }
    }

    /// Limits the size of the files of this process.
    ///
    /// - Returns: The previous limit.
    @discardableResult
    private static func limitFiles(to bytes: rlim_t) throws -> rlim_t {
        #if canImport(Glibc)
        let resource = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
        #else
        let resource = RLIMIT_FSIZE
        #endif
        var limit = rlimit()
        let read = getrlimit(resource, &limit)
        try #require(read == 0)
        let before = limit.rlim_cur
        limit.rlim_cur = bytes
        let written = setrlimit(resource, &limit)
        try #require(written == 0)
        return before
    }

    /// A file at its size limit fails like a file on a full disk, here after a part of the line was written.
    ///
    /// Runs in a separate process, as the limit applies to all files of a process.
    @Test func linesAreGivenBackOnlyWhileTheDiskIsFull() async {
        await #expect(processExitsWith: .success) {
            // As in the program: exceeding the limit is then an error of write(2) and does not end the process.
            signal(SIGXFSZ, SIG_IGN)
            try await AppendLogTests.withPath { path in
                let log = try AppendLogTests.log(path)
                try await log.commit(Array("1\n".utf8))
                let before = try AppendLogTests.limitFiles(to: 4)
                let line = Array("2222\n".utf8)
                let failure = await #expect(throws: OutputFailure.self) { try await log.commit(line) }
                // Before any other write, such as the report of this process.
                try AppendLogTests.limitFiles(to: before)
                #expect(failure == .system(SystemError(code: EFBIG).description))
                #expect(failure?.isRetryable == true)
                #expect(failure?.whenExhausted == .abandon)
                #expect(try AppendLogTests.text(path) == "1\n")
                try await log.commit(line)
                #expect(try AppendLogTests.text(path) == "1\n2222\n")
            }
        }
    }

    @Test func aSecondOwnerIsRefused() async throws {
        try await AppendLogTests.withPath { path in
            let first = try AppendLogTests.log(path)
            #expect(throws: AppendLogError.self) { try AppendLogTests.log(path) }
            try await first.commit([10])
        }
    }

    @Test(arguments: ["/dev/null", "/", "/nowhere/at/all"]) func aNonRegularFileIsRefused(_ path: String) {
        #expect(throws: AppendLogError.self) { try AppendLogTests.log(path) }
    }

    @Test func pathsOfOneFileShareOneAppendLog() async throws {
        try await AppendLogTests.withPath { path in
            let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
            try FileManager.default.createSymbolicLink(atPath: "\(folder)/link", withDestinationPath: folder)
            let table = AppendLogTable()
            let log = try table.log(at: path)
            #expect(try table.log(at: "\(folder)/./l.jsonl") === log)
            #expect(try table.log(at: "\(folder)/link/l.jsonl") === log)
            #expect(try table.log(at: "\(folder)/other.jsonl") !== log)
        }
    }

    private static func refusal(_ path: String) -> String {
        do {
            _ = try AppendLogTests.log(path)
            return "none"
        } catch {
            return error.description
        }
    }

    @Test func aSymbolicLinkIsNotFollowed() async throws {
        try await AppendLogTests.withPath { path in
            try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: path + ".target")
            #expect(AppendLogTests.refusal(path).contains("symbolic link"))
            #expect(!FileManager.default.fileExists(atPath: path + ".target"))
        }
    }

    @Test(arguments: [0o644, 0o660, 0o606, 0o620])
    func aFileOpenToOthersIsRefused(mode: Int) async throws {
        try await AppendLogTests.withPath { path in
            try Data("1\n".utf8).write(to: URL(fileURLWithPath: path))
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
            #expect(AppendLogTests.refusal(path).contains("(mode 0\(String(mode, radix: 8)))"))
            #expect(try AppendLogTests.text(path) == "1\n")
        }
    }

    @Test func aHardLinkedFileIsRefused() async throws {
        try await AppendLogTests.withPath { path in
            try await AppendLogTests.log(path).commit(Array("1\n".utf8))
            try FileManager.default.linkItem(atPath: path, toPath: path + ".second")
            #expect(AppendLogTests.refusal(path).contains("2 hard links"))
        }
    }

    @Test(.enabled(if: geteuid() == 0, "only root may change the owner of a file")) func aFileOfAnotherUserIsRefused()
        async throws
    {
        try await AppendLogTests.withPath { path in
            try await AppendLogTests.log(path).commit(Array("1\n".utf8))
            try #require(chown(path, 1, 1) == 0)
            #expect(AppendLogTests.refusal(path).contains("user 1 owns it"))
        }
    }
}

@Suite struct LineCommitterTests {
    /// Receives writes; the first waits until the test opens the gate.
    final class SlowDisk: Sendable {
        let writes = Mutex<[[UInt8]]>([])
        let entered = DispatchSemaphore(value: 0)
        let gate = DispatchSemaphore(value: 0)

        func write(_ bytes: [UInt8]) {
            let isFirst = writes.withLock { writes in
                writes.append(bytes)
                return writes.count == 1
            }
            guard isFirst else { return }
            entered.signal()
            gate.wait()
        }
    }

    @Test func waitingLinesAreWrittenTogetherInOrder() async throws {
        let disk = SlowDisk()
        let committer = LineCommitter(name: "test") { disk.write($0) }
        #expect(committer.offer([0]))
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                disk.entered.wait()
                continuation.resume()
            }
        }
        for byte in 1...100 { #expect(committer.offer([UInt8(byte)])) }
        disk.gate.signal()
        try await committer.commit([101])
        #expect(await committer.flush(within: .seconds(600)))
        #expect(disk.writes.withLock { $0.flatMap { $0 } } == Array(0...101))
        #expect(disk.writes.withLock { $0.count } <= 3)
    }

    @Test func aFailureReachesEachCommit() async {
        let committer = LineCommitter(name: "test") { _ throws(OutputFailure) in throw .closed }
        await #expect(throws: OutputFailure.closed) { try await committer.commit([1]) }
        await #expect(throws: OutputFailure.closed) { try await committer.commit([2]) }
    }

    @Test func waitingBytesAreBounded() async {
        let disk = SlowDisk()
        let committer = LineCommitter(name: "test", limit: 10) { disk.write($0) }
        #expect(committer.offer(Array(repeating: 0, count: 100)))
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                disk.entered.wait()
                continuation.resume()
            }
        }
        #expect(committer.offer(Array(repeating: 1, count: 10)))
        #expect(!committer.offer([2]))
        await #expect(throws: OutputFailure.full) { try await committer.commit([2]) }
        disk.gate.signal()
        #expect(await committer.flush(within: .seconds(600)))
        #expect(disk.writes.withLock { $0.map(\.count) } == [100, 10])
    }

    @Test func aFlushTimesOutOnAStalledReader() async {
        let disk = SlowDisk()
        let committer = LineCommitter(name: "test") { disk.write($0) }
        #expect(committer.offer([0]))
        #expect(await !committer.flush(within: .milliseconds(1)))
        disk.gate.signal()
        #expect(await committer.flush(within: .seconds(600)))
    }

    /// Stores the bytes written.
    final class Memory: Sendable {
        let bytes = Mutex<[UInt8]>([])

        func write(_ more: [UInt8]) { bytes.withLock { $0 += more } }

        func holds(_ byte: UInt8) -> Bool { bytes.withLock { $0.contains(byte) } }
    }

    @Test func aFlushIncludesEachAcceptedLine() async {
        for _ in 0..<3_000 {
            let memory = Memory()
            let committer = LineCommitter(name: "test") { memory.write($0) }
            let inTime = await withTaskGroup(of: Bool.self) { group in
                for byte: UInt8 in [0, 1] {
                    group.addTask {
                        guard committer.offer([byte]) else { return false }
                        return await committer.flush(within: .seconds(600)) && memory.holds(byte)
                    }
                }
                return await group.reduce(true) { $0 && $1 }
            }
            guard inTime else {
                Issue.record("a flush returned before its line was written")
                return
            }
        }
    }
}
