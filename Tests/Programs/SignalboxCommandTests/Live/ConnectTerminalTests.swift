import BrokerKit
import Foundation
import Testing

@testable import SignalboxCommand

@Suite(.timeLimit(.minutes(10))) struct ConnectTerminalTests {
    @Test func aPersonTypesAndReads() async throws {
        try await ChatTrial.with { trial in
            let terminal = try Terminal()
            let process = Process()
            process.executableURL = URL(fileURLWithPath: BuiltProgram.path("signalbox"))
            process.arguments = ["connect", trial.url]
            process.standardInput = terminal.device
            process.standardOutput = terminal.device
            let errors = Pipe.unshared()
            process.standardError = errors
            let (ends, teller) = AsyncStream.makeStream(of: Int32.self)
            process.terminationHandler = { teller.yield($0.terminationStatus) }
            try ProcessStart.run(process)
            defer { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }
            // The end of the program is then the end of what it shows.
            try terminal.device.close()
            let told = LineStream(errors.fileHandleForReading)
            #expect(await told.line(with: "connected to \(trial.url.dropLast())") != nil)
            try terminal.type(#"{"action":"say","id":"1","body":"\u001b[31mred"}"# + "\n")
            // The line that was typed comes back from the terminal itself, without a time.
            let shown = await terminal.lines.line(with: #"Z  <  {"action":"say","body":"\u001b[31mred"}"#)
            #expect(shown != nil)
            #expect(await terminal.lines.line(with: #"Z  <  {"id":"1","outcome":"handled""#) != nil)
            try terminal.type("\u{4}")
            var end = ends.makeAsyncIterator()
            #expect(await end.next() == 0)
        }
    }
}
