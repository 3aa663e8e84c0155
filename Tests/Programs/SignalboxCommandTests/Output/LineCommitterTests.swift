import Foundation
import Synchronization
import Testing

@testable import SignalboxCommand

@Suite struct LineCommitterTests {
    /// Takes writes; the first waits until the test opens it.
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

    @Test func whatWaitsGoesOutInOneWriteInItsOrder() async throws {
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

    @Test func aFailureReachesEveryoneWhoWaitedForIt() async {
        let committer = LineCommitter(name: "test") { _ throws(OutputFailure) in throw .closed }
        await #expect(throws: OutputFailure.closed) { try await committer.commit([1]) }
        await #expect(throws: OutputFailure.closed) { try await committer.commit([2]) }
    }

    @Test func whatWaitsIsBounded() async {
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

    @Test func aFlushDoesNotWaitForAReaderThatHasStopped() async {
        let disk = SlowDisk()
        let committer = LineCommitter(name: "test") { disk.write($0) }
        #expect(committer.offer([0]))
        #expect(await !committer.flush(within: .milliseconds(1)))
        disk.gate.signal()
        #expect(await committer.flush(within: .seconds(600)))
    }

    /// Keeps what is written.
    final class Memory: Sendable {
        let bytes = Mutex<[UInt8]>([])

        func write(_ more: [UInt8]) { bytes.withLock { $0 += more } }

        func holds(_ byte: UInt8) -> Bool { bytes.withLock { $0.contains(byte) } }
    }

    @Test func aFlushIsNeverAheadOfALineThatWasTaken() async {
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
