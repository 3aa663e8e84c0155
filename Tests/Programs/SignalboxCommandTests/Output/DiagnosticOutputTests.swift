import BrokerKit
import Dispatch
import Foundation
import Testing

@testable import SignalboxCommand

@Suite struct DiagnosticOutputTests {
    @Test func everyLineIsWrittenOrCountedOnce() async throws {
        let pipe = Pipe.unshared()
        let writer = pipe.fileHandleForWriting
        let output = DiagnosticOutput(descriptor: OutputDescriptor(number: writer.fileDescriptor), limit: 200)
        let lines = LineStream(pipe.fileHandleForReading)
        DispatchQueue.concurrentPerform(iterations: 8) { _ in
            for _ in 0..<20_000 { output.offer("line\n") }
        }
        #expect(await output.flush(within: .seconds(600)))
        // Nothing waits now, so this one is taken, and says what is missing.
        output.offer("line\n")
        #expect(await output.flush(within: .seconds(600)))
        try writer.close()
        var (written, dropped) = (0, 0)
        for line in await lines.rest() {
            guard line.hasPrefix("("), let number = Int(line.dropFirst().prefix { $0 != " " }) else {
                #expect(line == "line")
                written += 1
                continue
            }
            #expect(number > 0)
            dropped += number
        }
        #expect(written + dropped == 160_001)
    }
}
