import BrokerKit
import Foundation
import Testing

@Suite(.timeLimit(.minutes(10))) struct RawTerminalTests {
    /// Otherwise a publisher could change the terminal's title, or type for whoever reads.
    @Test(arguments: [("--raw", #"\e]0;title"#), ("--raw=always", "\u{1B}]0;title\u{07}end")])
    func whatAPublisherSendsControlsATerminalOnlyWhenAsked(option: String, shown: String) async throws {
        try await Broker.with { broker in
            try await broker.publish("\u{1B}]0;title\u{07}end", to: "x", retain: true)
            let terminal = try Terminal()
            let process = try SpawnedProcess(
                BuiltProgram.path("signalbox"),
                ["subscribe", broker.url, "--topic", "x", "--count", "1", option],
                SpawnedProcess.Streams(output: terminal.device.fileDescriptor)
            )
            defer { process.signal(SIGKILL) }
            // The end of the program is then the end of what it shows.
            try terminal.device.close()
            #expect(await terminal.lines.line(with: "end")?.contains(shown) == true)
            await process.untilEnd()
            #expect(process.status == 0)
        }
    }
}
