import BrokerKit
import Foundation
import Testing

@testable import SignalboxCommand

/// `signalbox connect --config`: messages are actions, and their outcomes are shown.
@Suite(.timeLimit(.minutes(10))) struct ConnectConfigurationTests {
    private static func configuration(_ url: String, _ keys: String = "") -> String {
        """
        sources:
          push: { mqtt: { broker: 'mqtt://127.0.0.1:1', client_id: a, topics: [ { pattern: '{action}' } ] } }
          news: { feed: { url: '\(url)'\(keys) } }
        plugins:
          - { action: say, use: reply, value: 1, from: [ { source: news } ] }
          - { action: closed, use: log, from: [ { source: push } ] }
          - { action: said, use: echo, from: [ { source: news } ] }
          - { action: shown, use: print, from: [ { source: news } ] }
        limits: { message_bytes: 1KiB }
        """
    }

    private static func connect(
        _ trial: ChatTrial,
        _ keys: String = "",
        _ arguments: String...
    ) async throws -> CommandProcess.Finished {
        try ChatTrial.write(configuration(trial.url, keys), to: "news.yaml", in: trial.folder)
        return try await CommandProcess.run(["connect", "--config", "news.yaml"] + arguments, folder: trial.folder)
    }

    @Test func eachMessageHasItsOutcome() async throws {
        try await ChatTrial.with { trial in
            let finished = try await Self.connect(trial, "", "--message", #"{"action":"say","body":7}"#, "--count", "1")
            #expect(finished.status == 0 && finished.errors.isEmpty, "\(finished.errors)")
            #expect(
                finished.output == [#"{"source":"news","action":"say","body":7,"outcome":"handled","reply":1}"#]
            )
        }
    }

    @Test func answersToMessagesOfOursAreShownBesideThem() async throws {
        try await ChatTrial.with { trial in
            try ChatTrial.write(Self.configuration(trial.url), to: "news.yaml", in: trial.folder)
            let client = try CommandProcess(["connect", "--config", "news.yaml"], folder: trial.folder, isTyped: true)
            try client.type(#"{"action":"say","id":"9","body":7}"#)
            // Whichever of the two comes first.
            var found: Set<String> = []
            for _ in 0..<2 { found.insert(try #require(await client.output.line(with: "{"))) }
            #expect(
                found == [
                    #"{"answer":{"id":"9","outcome":"handled","reply":{"refused":0,"sent":1}}}"#,
                    #"{"source":"news","action":"say","body":7,"outcome":"handled","reply":1}"#,
                ]
            )
            client.signal(SIGINT)
            await client.ends()
        }
    }

    @Test func whatIsNotHandledIsStatusOne() async throws {
        try await ChatTrial.with { trial in
            // Each asks the chat to send on what this configuration then looks at.
            let finished = try await Self.connect(
                trial,
                ", frames: { text: { action: closed, payload: text } }",
                "--message",
                #"{"action":"say"}"#,
                "--count",
                "1"
            )
            #expect(finished.status == CommandStatus.notAsExpected.rawValue)
            #expect(finished.output.first?.contains(#""reason":"sourceNotAllowed""#) == true)
            #expect(finished.errors.last == "signalbox: messages that were not handled: 1")
        }
    }

    @Test func aBinaryMessageThatNobodyWantsIsTheEnd() async throws {
        let frames = "absent_origin: allowed, frames: { text: { action: echo, payload: text }, binary: echo }"
        try await ChatTrial.with(ChatTrial.configuration(frames)) { trial in
            let finished = try await Self.connect(trial, "", "--binary", "--message", "a")
            #expect(finished.status == CommandStatus.protocolBroken.rawValue)
            #expect(finished.errors.last?.contains("1003") == true, "\(finished.errors)")
            let large = try await Self.connect(trial, "", "--message", String(repeating: "a", count: 2_000))
            #expect(large.status == CommandStatus.protocolBroken.rawValue)
            #expect(large.errors.last?.contains("1009") == true, "\(large.errors)")
        }
    }

    @Test func theEchoOfAnEchoComesToo() async throws {
        let frames = "frames: { text: { action: said, payload: text }, binary: said }"
        let chat = "absent_origin: allowed, frames: { text: { action: echo, payload: text }, binary: echo }"
        try await ChatTrial.with(ChatTrial.configuration(chat)) { trial in
            let finished = try await Self.connect(trial, ", \(frames)", "--message", "", "--count", "4")
            #expect(finished.status == 0)
            let line = #"{"source":"news","action":"said","body":null,"outcome":"handled","reply":null}"#
            #expect(finished.output == Array(repeating: line, count: 4))
        }
    }

    @Test func connectionsAreShownWhereTheSectionAnnouncesThem() async throws {
        try await ChatTrial.with { trial in
            let finished = try await Self.connect(trial, ", announce_connections: true", "--count", "1")
            #expect(finished.output.first?.hasPrefix(#"{"source":"news","action":"signalbox.connected","#) == true)
            let hidden = try await Self.connect(trial, "", "--timeout", "500ms")
            #expect(hidden.status == CommandStatus.timeout.rawValue && hidden.output.isEmpty)
        }
    }

    @Test func theURLOfTheArgumentsCountsAndTheFeedMustBeThere() async throws {
        try await ChatTrial.with { trial in
            try ChatTrial.write(Self.configuration("ws://127.0.0.1:1/"), to: "news.yaml", in: trial.folder)
            let message = ["--message", #"{"action":"say","body":7}"#, "--count", "1"]
            let arguments = ["connect", trial.url, "--config", "news.yaml", "--source", "news"] + message
            #expect(try await CommandProcess.run(arguments, folder: trial.folder).status == 0)
            let wrong = try await CommandProcess.run(
                ["connect", "--config", "news.yaml", "--source", "nwes"],
                folder: trial.folder
            )
            #expect(wrong.status == CommandStatus.invalidConfiguration.rawValue)
            #expect(wrong.errors.first?.contains("there is no feed 'nwes'; did you mean 'news'?") == true)
            let none = try await CommandProcess.run(["connect", "--config", "chat.yaml"], folder: trial.folder)
            #expect(none.errors.first?.contains("no source is a feed; add one below 'sources'") == true)
        }
    }
}
