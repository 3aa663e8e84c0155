#if os(Linux)
import BrokerKit
import Foundation
import Testing

/// A store on a small disk that is full.
@Suite(.timeLimit(.minutes(10))) struct StoreDiskTests {
    @Test func nothingIsAcknowledgedUntilThereIsSpace() async throws {
        let folder = try await FaultFolder()
        let trial = try FaultTrial(in: folder)
        guard try await mount(trial.disk) else {
            return print("skipped: a full disk: no file system can be mounted here")
        }
        let result: Result<Void, any Error>
        do { result = .success(try await fill(trial)) } catch { result = .failure(error) }
        #expect(try await RunningProgram("umount", [trial.disk.path]).status() == 0)
        try result.get()
    }

    private func mount(_ disk: URL) async throws -> Bool {
        try FileManager.default.createDirectory(at: disk, withIntermediateDirectories: true)
        return try await RunningProgram("mount", ["-t", "tmpfs", "-o", "size=2m", "tmpfs", disk.path]).status() == 0
    }

    private func fill(_ trial: FaultTrial) async throws {
        let worker = try trial.worker(
            ["--store", trial.disk.appendingPathComponent("messages.db").path, "--hold"],
            isTyped: true
        )
        try await worker.output.untilLine(containing: "open")
        let filler = trial.disk.appendingPathComponent("filler")
        try fill(filler)
        try worker.type("go on")
        try await worker.errors.untilLine(containing: "the store cannot be written")
        let line = worker.errors.lines.first { $0.contains("the store cannot be written") } ?? ""
        #expect(line.contains("there is no space on the device"), "\(line)")
        #expect(try trial.numbers("accepted.txt").isEmpty)
        #expect(try trial.numbers("handled.txt").isEmpty)
        try FileManager.default.removeItem(at: filler)
        #expect(await worker.unexpectedEnd() == nil)
        #expect(worker.errors.lines.contains { $0.contains("the store can be written again") })
        #expect(try trial.numbers("accepted.txt") == Array(1...FaultTrial.count))
        #expect(try trial.numbers("handled.txt") == Array(1...FaultTrial.count))
    }

    /// Writes until there is no space.
    private func fill(_ file: URL) throws {
        let descriptor = open(file.path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        let page = [UInt8](repeating: 1, count: 4_096)
        while write(descriptor, page, page.count) > 0 {}
        #expect(errno == ENOSPC)
    }
}

extension FaultTrial {
    fileprivate var disk: URL { folder.appendingPathComponent("disk") }
}
#endif
