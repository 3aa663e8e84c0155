#if os(Linux)
import BrokerKit
import Foundation
import Logging
import Testing

@testable import SignalboxCommand

/// Lines that systemd's journal receives begin with their priority.
@Suite(.timeLimit(.minutes(5))) struct JournalPriorityTests {
    /// Returns what a command writes to a file that the environment names as the journal.
    private static func errors(named journal: String, _ arguments: String) async throws -> String {
        var text = ""
        try await TemporaryFolder.with { folder in
            let configuration = """
                sources: { l: { links: { urls: ['app://bad', 'app://good'], routes: [{ pattern: 'app://{action}' }] } } }
                plugins: [{ action: bad, use: fail, from: l }, { action: good, use: log, from: l }]
                """
            try ProcessTrial.write(configuration, in: folder)
            let script = "exec 2>errors; JOURNAL_STREAM=\(journal) exec \"$0\" run c.yaml \(arguments)"
            let shell = try RunningProgram("sh", ["-c", script, BuiltProgram.path("signalbox")], folder: folder)
            _ = await shell.status()
            text = try String(contentsOf: folder.appendingPathComponent("errors"), encoding: .utf8)
        }
        return text
    }

    @Test(arguments: ["text", "json"]) func linesOfTheJournalHaveAPriority(format: String) async throws {
        let text = try await Self.errors(named: "$(stat -c %d:%i errors)", "--log-format \(format)")
        let lines = text.split(separator: "\n")
        #expect(lines.count >= 4)
        for line in lines { #expect(line.wholeMatch(of: /<[3-6]>[^<].*/) != nil, "\(line)") }
        #expect(lines.contains { $0.hasPrefix("<4>") && $0.contains("dead letter") }, "\(text)")
        #expect(lines.contains { $0.hasPrefix("<6>") && $0.contains("action") }, "\(text)")
    }

    /// A variable that a service has inherited is not about its own output.
    @Test(arguments: ["1:2", "''", "x"]) func otherLinesHaveNone(stream: String) async throws {
        let text = try await Self.errors(named: stream, "")
        #expect(!text.isEmpty && !text.split(separator: "\n").contains { $0.hasPrefix("<") })
    }

    @Test func eachLevelHasItsPriority() {
        let output = DiagnosticOutput(descriptor: OutputDescriptor(number: -1), isTerminal: false, isJournal: true)
        let priorities = Logger.Level.allCases.map { output.priority(of: $0) }
        #expect(priorities == ["<7>", "<7>", "<6>", "<5>", "<4>", "<3>", "<2>"])
    }
}
#endif
