import BrokerKit
import Foundation
import Testing

@testable import SignalboxCommand

@Suite struct StandardOutputTests {
    private static let line = Array(repeating: UInt8(ascii: "x"), count: 1_000_000)

    private static func output(_ pipe: Pipe, limit: Int = 16 << 20) -> StandardOutput {
        StandardOutput(
            descriptor: OutputDescriptor(number: pipe.fileHandleForWriting.fileDescriptor),
            limit: limit
        )
    }

    @Test func allLinesAreOutWhenItIsFinished() async throws {
        let pipe = Pipe.unshared()
        let output = StandardOutputTests.output(pipe)
        output.offer([1, 2, 3])
        #expect(await output.finish(within: .seconds(600)) == nil)
        #expect(try pipe.fileHandleForReading.read(upToCount: 3) == Data([1, 2, 3]))
    }

    @Test func aReaderThatWentAwayIsToldOfAtTheEnd() async throws {
        let pipe = Pipe.unshared()
        signal(SIGPIPE, SIG_IGN)
        let output = StandardOutputTests.output(pipe)
        try pipe.fileHandleForReading.close()
        output.offer([1])
        #expect(await output.finish(within: .seconds(600)) == .closed)
    }

    @Test func aReaderThatStoppedAndWhatWasDroppedForItAreToldOf() async throws {
        let pipe = Pipe.unshared()
        let output = StandardOutputTests.output(pipe, limit: 10)
        // More than a pipe holds.
        output.offer(StandardOutputTests.line)
        #expect(await output.finish(within: .milliseconds(1)) == .stalled)
        while output.droppedLines == 0 { output.offer(Array(repeating: 1, count: 8)) }
        Thread.detachNewThread { while !pipe.fileHandleForReading.availableData.isEmpty {} }
        #expect(await output.finish(within: .seconds(600)) == .full)
        try pipe.fileHandleForWriting.close()
    }
}
