import BrokerKit
import Foundation
import SignalboxCore
import SignalboxStore
import Testing

@testable import SignalboxCommand

@Suite(.timeLimit(.minutes(10))) struct DeadCommandTests {
    private static let letters = [
        StoreTrial.letter("app://pay/1", seconds: 1_700_000_300),
        StoreTrial.letter("app://none/2", action: nil, reason: "unknownAction", seconds: 1_700_000_100),
        StoreTrial.letter("app://pay/3", action: "refuse", source: "other", seconds: 1_700_000_200),
    ]

    private static func numbers(_ finished: CommandProcess.Finished) -> [Int] {
        finished.output.compactMap { line in
            let object = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            return object?["number"] as? Int
        }
    }

    @Test(arguments: [
        ("", [2, 3, 1]), ("--reason threw", [3, 1]), ("--reason none", []), ("--source other", [3]),
        ("--action pay", [1]), ("--action pay --source other", []), ("--limit 2", [3, 1]),
        ("--since 2023-11-14T22:16:00Z", [3, 1]), ("--since 1h", []),
        ("--since 2023-11-14T23:18:00+01:00 --json", [1]),
    ])
    func lettersAreListedInTheOrderOfTheirLastFailure(_ options: String, _ expected: [Int]) async throws {
        try await StoreTrial.with(Self.letters) { trial in
            let arguments = ["dead", "list"] + ShellWords.split(options)
            let finished = try await CommandProcess.run(arguments, folder: trial.folder)
            #expect(Self.numbers(finished) == expected, "\(finished)")
            #expect(finished.status == 0 && finished.errors.isEmpty)
        }
    }

    @Test func aLineOfTheListHasTheFacts() async throws {
        try await StoreTrial.with(Self.letters) { trial in
            let line =
                #"{"number":1,"lastAt":"2023-11-14T22:18:20.123Z","source":"links","action":"pay","reason":"threw","#
                + #""detail":"the plugin 'fail' always fails","attempts":1,"failures":1}"#
            let finished = try await trial.run("dead", "list", "--store", "messages.db", "--limit", "1")
            #expect(finished.output == [line])
        }
    }

    @Test func aLetterIsShownWithItsMessage() async throws {
        try await StoreTrial.with(Self.letters) { trial in
            let finished = try await trial.run("dead", "show", "2")
            let line = try #require(finished.output.first)
            for part in [
                #""facts":{"scheme":"app"}"#, #""reason":"unknownAction""#, #""original":"app://none/2"}"#,
                #""explanation":[{"stage":"envelope","passes":true,"detail":"address"}]"#,
                #""firstAt":"2023-11-14T22:15:00.123Z""#,
            ] { #expect(line.contains(part), "\(line)") }
            let missing = try await trial.run("dead", "show", "9")
            #expect(missing.status == 1 && missing.output.isEmpty)
            #expect(missing.errors == ["signalbox: there is no dead letter 9"])
        }
    }

    @Test func columnsForATerminalHaveNoControlCharacters() {
        var entry = StoreTrial.letter(original: Bytes("a\u{1B}[31m\n"))
        entry.letter.detail = "one\ntwo"
        let line = LetterLine(entry: entry)
        for columns in [line.listColumns, line.wholeColumns] {
            let text = String(decoding: columns, as: UTF8.self)
            #expect(!text.contains("\u{1B}[31m") && text.contains("one\\ntwo"), "\(text)")
        }
    }

    @Test func exportedLettersAreImportedCompletely() async throws {
        let binary = StoreTrial.letter(action: nil, seconds: 1_700_000_400, original: Bytes([0xFF, 0x00, 0x0A]))
        try await StoreTrial.with(Self.letters + [binary]) { trial in
            let exported = try await trial.run("dead", "export")
            #expect(exported.status == 0 && exported.output.count == 4)
            try Store(path: trial.file("copy.db").path).close()
            let lines = exported.output.joined(separator: "\n")
            let imported = try await trial.run("dead", "import", "--store", "copy.db", input: lines)
            #expect(imported.status == 0 && imported.errors == ["signalbox: 4 imported"])
            let again = try await trial.run("dead", "export", "--store", "copy.db")
            #expect(again.output == exported.output)
            let last = try #require(exported.output.last)
            #expect(last.contains(#""original":"/wAK","originalEncoding":"base64"}"#), "\(last)")
        }
    }

    @Test(arguments: [
        (#""outcome":"failed""#, #""outcome":"handled""#, "'outcome' must be rejected or failed"),
        (#""lastAt":"2023-11-14"#, #""lastAt":"2023-02-30"#, "'lastAt' must be a time such as"),
        (#""source":"links""#, #""source":7"#, "body.source"),
        (#""envelope":"address""#, #""envelope":"paper""#, "'envelope' is not the name of an envelope"),
        (#""explanation":"#, #""explanations":"#, "'explanation' is missing"),
        ("}", "", "unexpectedEnd"),
    ])
    func nothingIsImportedIfALineIsWrong(_ part: String, _ other: String, _ words: String) async throws {
        try await StoreTrial.with([StoreTrial.letter()]) { trial in
            let line = try #require(try await trial.run("dead", "export").output.first)
            let wrong = line.hasSuffix(part) ? String(line.dropLast()) : line.replacing(part, with: other)
            let finished = try await trial.run("dead", "import", input: "\(line)\n\n\(wrong)\n")
            #expect(finished.status == CommandStatus.invalidConfiguration.rawValue)
            let error = try #require(finished.errors.first)
            #expect(error.hasPrefix("signalbox: stdin:3: ") && error.contains(words), "\(error)")
            #expect(try trial.numbers() == [1])
        }
    }

    @Test func lettersAreDeletedOnlyWithConsent() async throws {
        try await StoreTrial.with(Self.letters) { trial in
            let asked = try await trial.run("dead", "purge", "--all", input: "y\n")
            #expect(asked.status == CommandStatus.usage.rawValue)
            #expect(asked.errors.first?.contains("add --yes") == true)
            #expect(try trial.numbers().count == 3)
            let purged = try await trial.run("dead", "purge", "--reason", "unknownAction", "--yes")
            #expect(purged.status == 0 && purged.errors == ["signalbox: 1 deleted"])
            let some = try await trial.run("dead", "purge", "2", "3", "--yes")
            #expect(some.status == 1)
            #expect(some.errors == ["signalbox: there is no dead letter 2", "signalbox: 1 deleted"])
            #expect(try trial.numbers() == [1])
        }
    }

    @Test(arguments: [("y", 1), ("n", 2), ("", 2)])
    func aTerminalIsAsked(_ answer: String, _ left: Int) async throws {
        try await StoreTrial.with([StoreTrial.letter(), StoreTrial.letter()]) { trial in
            let terminal = try Terminal()
            let output = Pipe.unshared()
            let process = try SpawnedProcess(
                BuiltProgram.path("signalbox"),
                ["dead", "purge", "1", "--store", trial.file("messages.db").path],
                SpawnedProcess.Streams(
                    input: terminal.device.fileDescriptor,
                    output: output.fileHandleForWriting.fileDescriptor,
                    errors: terminal.device.fileDescriptor
                )
            )
            defer { process.signal(SIGKILL) }
            try output.fileHandleForWriting.close()
            try terminal.device.close()
            try await terminal.lines.untilUnfinishedLine(containing: "? [y/N] ")
            try terminal.type("\(answer)\n")
            #expect(await process.endStatus() == (left == 1 ? 0 : 1))
            #expect(try trial.numbers().count == left)
        }
    }

    @Test func theStoreIsThatOfTheConfiguration() async throws {
        try await StoreTrial.with(Self.letters) { trial in
            let other = trial.file("sub")
            try FileManager.default.createDirectory(at: other, withIntermediateDirectories: true)
            let (list, folder) = (["dead", "list"], other)
            let found = try await CommandProcess.run(list + ["--config", "../signalbox.yaml"], folder: folder)
            #expect(found.output.count == 3, "\(found)")
            let none = try await CommandProcess.run(list, folder: folder)
            #expect(none.status == CommandStatus.usage.rawValue)
            #expect(none.errors.first?.contains("there is no signalbox.yaml here") == true)
            let missing = try await CommandProcess.run(list + ["--store", "none.db"], folder: folder)
            #expect(missing.status == CommandStatus.unreadableFile.rawValue)
            try "sources: 7".write(to: trial.file("bare.yaml"), atomically: true, encoding: .utf8)
            let bare = try await trial.run("dead", "list", "--config", "bare.yaml")
            #expect(bare.status == CommandStatus.invalidConfiguration.rawValue)
            #expect(bare.errors.first?.contains("there is no store; add one") == true)
        }
    }
}
