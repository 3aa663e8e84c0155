import BrokerKit
import Foundation
import SignalboxCore
import SignalboxStore
import Testing

@testable import SignalboxCommand

@Suite(.timeLimit(.minutes(10))) struct ReplayTests {
    @Test func lettersAreReplayedWithTodaysPlugins() async throws {
        let letters = [StoreTrial.letter(), StoreTrial.letter("app://none/2", action: nil)]
        try await StoreTrial.with(letters) { trial in
            let finished = try await trial.run("dead", "replay", "--all")
            #expect(finished.status == CommandStatus.notAsExpected.rawValue)
            #expect(
                finished.output.sorted() == [
                    #"{"number":1,"source":"links","action":"pay","outcome":"handled"}"#,
                    #"{"number":2,"source":"links","outcome":"rejected","reason":"unknownAction","#
                        + #""detail":"no route matches this link of scheme app and host \"none\"; the nearest route is "#
                        + #"\"app://pay/{n}\"","attempts":1,"failures":2}"#,
                ],
                "\(finished)"
            )
            // The plugin 'print' writes to stderr, because stdout has the results.
            #expect(finished.errors.contains { $0.contains(#""body":{"n":"1"}"#) })
            #expect(try trial.numbers() == [2])
            #expect(trial.administration.holder == nil)
        }
    }

    @Test func aLetterIsReplayedAsAnotherAction() async throws {
        try await StoreTrial.with([StoreTrial.letter()]) { trial in
            let failed = try await trial.run("dead", "replay", "1", "--to", "refuse")
            #expect(failed.status == 1)
            #expect(failed.output.first?.contains(#""outcome":"failed","reason":"threw""#) == true, "\(failed)")
            let handled = try await trial.run("dead", "replay", "1")
            #expect(handled.status == 0 && handled.output.count == 1, "\(handled)")
        }
    }

    @Test func aDryRunChangesNothing() async throws {
        let letters = [StoreTrial.letter(), StoreTrial.letter(source: "gone")]
        try await StoreTrial.with(letters) { trial in
            let finished = try await trial.run("dead", "replay", "--all", "--dry-run")
            #expect(finished.status == 1)
            #expect(finished.output.first?.hasPrefix(#"{"number":1,"source":"links","#) == true, "\(finished)")
            #expect(finished.output.first?.contains(#""verdict":{"code":"called""#) == true)
            #expect(finished.output.last?.contains("the configuration has no source gone") == true)
            let other = try await trial.run("dead", "replay", "1", "--dry-run", "--to", "refuse")
            #expect(other.status == 0)
            #expect(other.output.first?.contains("use: fail") == true, "\(other)")
            let entries = try trial.administration.letters([1, 2])
            #expect(entries.map(\.failures) == [1, 1] && !entries.contains(where: \.isToBeReplayed))
        }
    }

    @Test func aRunningProgramReplaysLetters() async throws {
        let letters = [StoreTrial.letter("app://pay/7"), StoreTrial.letter("app://none/8", action: nil)]
        try await StoreTrial.with(letters) { trial in
            try await trial.whileRunning { process in
                // It needs only the store, because the program has the plugins.
                let finished = try await trial.run("dead", "replay", "1", "2", "3", "--store", "messages.db")
                #expect(finished.status == 1)
                #expect(finished.output.contains(#"{"number":1,"source":"links","action":"pay","outcome":"handled"}"#))
                #expect(finished.output.contains { $0.contains(#""number":2"#) && $0.contains(#""failures":2"#) })
                #expect(finished.errors == ["signalbox: there is no dead letter 3"])
                try #require(await process.output.line(with: #""body":{"n":"7"}"#) != nil)
            }
            #expect(try trial.numbers() == [2])
        }
    }

    @Test func onlyTheOutcomeOfAReplayedLetterIsRedelivered() async throws {
        try await StoreTrial.with([StoreTrial.letter()]) { trial in
            try await trial.whileRunning("--outcomes") { process in
                let outcome = #""outcome":"handled""#
                let first = try #require(await process.output.line(with: outcome))
                #expect(first.hasSuffix(outcome + "}"), "\(first)")
                let finished = try await trial.run("dead", "replay", "1")
                #expect(finished.status == 0, "\(finished)")
                let again = try #require(await process.output.line(with: outcome))
                #expect(again.hasSuffix(outcome + #","isRedelivered":true}"#), "\(again)")
            }
        }
    }

    @Test func whatHasNoResultStaysRequested() async throws {
        try await StoreTrial.with([StoreTrial.letter()]) { trial in
            let finished = try await trial.run("dead", "replay", "1", "--to", "hang", "--timeout", "2s")
            #expect(finished.status == CommandStatus.timeout.rawValue)
            #expect(finished.output.isEmpty)
            let words = "signalbox: 1 dead letter has no result yet; the next run of the program replays it"
            #expect(finished.errors.last == words, "\(finished.errors)")
            #expect(try trial.administration.letters([1]).map(\.isToBeReplayed) == [true])
        }
    }

    @Test func aPluginThatNeedsAConnectionIsNotCalled() async throws {
        try await StoreTrial.with([StoreTrial.letter()]) { trial in
            let configuration = """
                store: messages.db
                sources:
                  links: { links: { routes: [ { pattern: 'app://pay/{n}', action: pay } ] } }
                  chat: { chat: { port: 0, absent_origin: allowed } }
                plugins: [ { action: pay, use: broadcast, to: chat, tag: all, from: links } ]
                """
            try configuration.write(to: trial.file("signalbox.yaml"), atomically: true, encoding: .utf8)
            let finished = try await trial.run("dead", "replay", "--all")
            #expect(finished.status == CommandStatus.unavailable.rawValue)
            #expect(finished.errors.first?.contains("sends to the source 'chat', which does not run") == true)
            #expect(try trial.administration.letters([1]).map(\.isToBeReplayed) == [false])
        }
    }
}
