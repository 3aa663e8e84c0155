import BrokerKit
import Foundation
import SignalboxCore
import SignalboxStore
import Testing

@testable import SignalboxCommand

@Suite(.timeLimit(.minutes(10))) struct StoreCommandTests {
    @Test func theInformationNamesTheProcess() async throws {
        try await StoreTrial.with([StoreTrial.letter()]) { trial in
            let idle = try await trial.run("store", "info")
            let line = try #require(idle.output.first)
            #expect(line.hasPrefix(#"{"path":"messages.db","version":2,"fileBytes":"#), "\(line)")
            let rest = #""journal":{},"deadLetters":1,"deadLetterBytes":11,"replays":0,"handledIDs":0,"outcomes":0}"#
            #expect(line.hasSuffix(rest), "\(line)")
            try await trial.whileRunning { process in
                let busy = try await trial.run("store", "info", "--json")
                let holder = try #require(trial.administration.holder)
                #expect(busy.output.first?.hasSuffix(#","process":\#(holder)}"#) == true, "\(busy)")
            }
        }
    }

    @Test func aFileIsChecked() async throws {
        try await StoreTrial.with { trial in
            let good = try await trial.run("store", "check")
            #expect(good.status == 0 && good.output == ["ok"])
            try Data("not a database, whatever its name says".utf8).write(to: trial.file("bad.db"))
            let bad = try await trial.run("store", "check", "--store", "bad.db")
            #expect(bad.status == 1)
            #expect(bad.output.first?.contains("not a database") == true, "\(bad)")
        }
    }

    @Test func aBackupIsAStore() async throws {
        try await StoreTrial.with([StoreTrial.letter()]) { trial in
            let copied = try await trial.run("store", "backup", "copy.db")
            #expect(copied.status == 0 && copied.errors.isEmpty)
            let listed = try await trial.run("dead", "list", "--store", "copy.db")
            #expect(listed.output.count == 1)
            let again = try await trial.run("store", "backup", "copy.db")
            #expect(again.status == CommandStatus.outputFailed.rawValue)
            #expect(again.errors == ["signalbox: copy.db: the file exists; name another one [StoreError.unavailable]"])
        }
    }

    @Test func deadLettersOfARunAreKept() async throws {
        try await StoreTrial.with { trial in
            let first = try await trial.run("run", "signalbox.yaml", input: "app://none/1\napp://pay/2\n")
            #expect(first.status == 0)
            let words =
                "signalbox: 1 dead letter is kept in messages.db; 'signalbox dead list --store messages.db' shows it"
            #expect(first.errors.contains(words), "\(first.errors)")
            #expect(!first.errors.contains { $0.contains("lost with the process") })
            #expect(try trial.numbers() == [1])
        }
    }

    @Test func aSecondProgramIsRefused() async throws {
        try await StoreTrial.with { trial in
            try await trial.whileRunning { _ in
                let holder = try #require(trial.administration.holder)
                let second = try await trial.run("run", "signalbox.yaml", input: "")
                #expect(second.status == CommandStatus.unavailable.rawValue)
                #expect(second.errors.first?.contains("process \(holder) uses this store") == true, "\(second.errors)")
            }
        }
    }

    @Test func aFileThatIsNoStoreIsRefused() async throws {
        try await StoreTrial.with { trial in
            try Data("not a database, whatever its name says".utf8).write(to: trial.file("messages.db"))
            let finished = try await trial.run("run", "signalbox.yaml", input: "")
            #expect(finished.status == CommandStatus.unreadableFile.rawValue, "\(finished)")
        }
    }
}
