import BrokerKit
import Foundation
import Testing

@testable import SignalboxCommand

@Suite(.timeLimit(.minutes(10))) struct ConnectTerminalTests {
    @Test func aPersonTypesAndReads() async throws {
        try await ChatTrial.with { trial in
            let terminal = try Terminal()
            let errors = Pipe.unshared()
            let process = try SpawnedProcess(
                BuiltProgram.path("signalbox"),
                ["connect", trial.url],
                SpawnedProcess.Streams(
                    input: terminal.device.fileDescriptor,
                    output: terminal.device.fileDescriptor,
                    errors: errors.fileHandleForWriting.fileDescriptor
                )
            )
            defer { process.signal(SIGKILL) }
            try errors.fileHandleForWriting.close()
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
            await process.untilEnd()
            #expect(process.status == 0)
        }
    }
}
