import BrokerKit
import Foundation
import SignalboxCore
import SignalboxStore
import Testing

@testable import SignalboxCommand

@Suite(.timeLimit(.minutes(10))) struct LogCommandTests {
    /// Sorted, as a rejection need not wait for the calls of plugins that came before it.
    private static func reasons(_ finished: CommandProcess.Finished) -> [String] {
        finished.output.compactMap { line in
            let object = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            return object?["reason"] as? String ?? object?["outcome"] as? String
        }
        .sorted()
    }

    @Test func outcomesAreShownAndSelected() async throws {
        try await StoreTrial.with { trial in
            let ran = try await trial.run("run", "signalbox.yaml", input: "app://pay/1\napp://none/2\napp://pay/3\n")
            #expect(ran.status == 0)
            let all = try await trial.run("log")
            #expect(Self.reasons(all) == ["handled", "handled", "unknownAction"], "\(all)")
            #expect(all.status == 0 && all.errors.isEmpty)
            let cases: [(String, [String])] = [
                ("--outcome handled --limit 1", ["handled"]), ("--outcome unknownAction", ["unknownAction"]),
                ("--outcome rejected --source links", ["unknownAction"]), ("--action pay", ["handled", "handled"]),
                ("--source other", []), ("--since 1h --store messages.db", ["handled", "handled", "unknownAction"]),
                ("--since 2100-01-01T00:00:00Z", []),
            ]
            for (options, expected) in cases {
                let arguments = ["log"] + ShellWords.split(options)
                let finished = try await CommandProcess.run(arguments, folder: trial.folder)
                #expect(Self.reasons(finished) == expected, "\(options): \(finished)")
            }
        }
    }

    @Test func aLineHasTheFacts() async throws {
        try await StoreTrial.with { trial in
            _ = try await trial.run("run", "signalbox.yaml", input: "app://pay/1\n")
            let line = try #require(try await trial.run("log").output.first)
            for part in [
                #""source":"links","action":"pay","id":""#, #""outcome":"handled","plugin":"pay","attempts":1,"#,
                #""receivedAt":"2"#,
            ] { #expect(line.contains(part), "\(line)") }
            #expect(!line.contains("isDuplicate") && !line.contains("isRedelivered"))
        }
    }

    @Test func newOutcomesOfARunningProgramAreFollowed() async throws {
        try await StoreTrial.with { trial in
            try await trial.whileRunning { program in
                let log = try CommandProcess(["log", "--follow"], folder: trial.folder)
                // The link that `whileRunning` waited for.
                try #require(await log.output.line(with: #""action":"pay""#) != nil)
                try program.type("app://none/1\n")
                try #require(await log.output.line(with: #""reason":"unknownAction""#) != nil)
                log.signal(SIGTERM)
                #expect(await log.status() == CommandStatus.terminated.rawValue)
            }
        }
    }

    @Test func aStoreWithoutHistorySaysSo() async throws {
        try await StoreTrial.with { trial in
            let finished = try await trial.run("log")
            #expect(finished.status == 0 && finished.output.isEmpty)
            #expect(finished.errors.first?.contains("this store has no history") == true, "\(finished)")
        }
    }

    @Test func columnsForATerminalHaveNoControlCharacters() {
        let record = OutcomeRecord(
            source: "links",
            action: "pay",
            id: "a\u{1B}[31m",
            plugin: nil,
            outcome: "failed",
            reason: "threw",
            detail: "one\ntwo",
            path: nil,
            attempts: 1,
            isDuplicate: true,
            isRedelivered: true,
            receivedAt: WallTime(seconds: 1_700_000_000),
            settledAt: WallTime(seconds: 1_700_000_001)
        )
        let text = String(decoding: HistoryLine(record: record).columns, as: UTF8.self)
        #expect(!text.contains("\u{1B}[31m") && text.contains("threw: one\\ntwo, duplicate, redelivered"), "\(text)")
    }
}
