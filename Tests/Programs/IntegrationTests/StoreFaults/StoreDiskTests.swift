#if os(Linux)
import BrokerKit
import Foundation
import Testing

/// A store on a small disk that is full.
@Suite(.timeLimit(.minutes(10))) struct StoreDiskTests {
    @Test func nothingIsAcknowledgedUntilThereIsSpace() async throws {
        let folder = try await FaultFolder()
        let trial = try FaultTrial(in: folder)
        let hasDisk = try await SmallDisk.with(at: trial.folder.appendingPathComponent("disk"), megabytes: 2) { disk in
            try await fill(disk, trial)
        }
        if !hasDisk { print("skipped: a full disk: no file system can be mounted here") }
    }

    private func fill(_ disk: SmallDisk, _ trial: FaultTrial) async throws {
        let worker = try trial.worker(
            ["--store", disk.folder.appendingPathComponent("messages.db").path, "--hold"],
            isTyped: true
        )
        try await worker.output.untilLine(containing: "open")
        try disk.fill()
        try worker.type("go on")
        try await worker.errors.untilLine(containing: "the store cannot be written")
        let line = worker.errors.lines.first { $0.contains("the store cannot be written") } ?? ""
        #expect(line.contains("there is no space on the device"), "\(line)")
        #expect(try trial.numbers("accepted.txt").isEmpty)
        #expect(try trial.numbers("handled.txt").isEmpty)
        try disk.free()
        #expect(await worker.unexpectedEnd() == nil)
        #expect(worker.errors.lines.contains { $0.contains("the store can be written again") })
        #expect(try trial.numbers("accepted.txt") == Array(1...FaultTrial.count))
        #expect(try trial.numbers("handled.txt") == Array(1...FaultTrial.count))
    }
}
#endif
