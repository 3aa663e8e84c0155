import BrokerKit
import Foundation
import Testing

@testable import SignalboxCommand

@Suite(.timeLimit(.minutes(10))) struct SendTests {
    private static let configuration = """
        sources: { push: { mqtt: { broker: 'mqtt://127.0.0.1:1', client_id: a, topics: [ { pattern: '{action}' } ] } } }
        plugins:
          - { action: pay, use: reply, value: { receipt: r-1 }, from: [ { source: internal } ] }
          - { action: show, use: print, from: [ { source: internal } ] }
          - { action: closed, use: log, from: [ { source: push } ] }
          - { action: broken, use: fail, from: [ { source: internal } ] }
          - { action: hang, use: suspend, timeout: 1h, from: [ { source: internal } ] }
        drain_limit: 100ms
        limits: { message_bytes: 100 }
        """

    private static func send(_ arguments: String..., input: String? = nil) async throws -> CommandProcess.Finished {
        var finished: CommandProcess.Finished?
        try await TemporaryFolder.with { folder in
            let (file, body) = (folder.appendingPathComponent("c.yaml"), folder.appendingPathComponent("body"))
            try configuration.write(to: file, atomically: true, encoding: .utf8)
            try (input ?? "").write(to: body, atomically: true, encoding: .utf8)
            finished = try await CommandProcess.run(
                ["send", "c.yaml"] + arguments,
                folder: folder,
                input: input == nil ? nil : body
            )
        }
        return try #require(finished)
    }

    @Test func anActionIsHandledAndItsReplyIsShown() async throws {
        let finished = try await SendTests.send("pay", "--body", "{ \"a\": 1.50 }", "--id", "7")
        #expect(finished.status == 0)
        #expect(
            finished.output == [
                #"{"source":"internal","action":"pay","id":"7","body":{"a":1.50},"outcome":"handled","reply":{"receipt":"r-1"}}"#
            ]
        )
        #expect(finished.errors.isEmpty)
    }

    @Test func aMissingBodyIsNullAndAnAssignedIDIsHidden() async throws {
        let finished = try await SendTests.send("show")
        #expect(finished.status == 0)
        #expect(finished.output == [#"{"source":"internal","action":"show","body":null,"outcome":"handled"}"#])
        #expect(finished.errors.contains { $0.hasPrefix(#"{"source":"internal","action":"show","id":"#) })
    }

    @Test func theBodyMayComeFromStandardInput() async throws {
        let finished = try await SendTests.send("pay", "--file", "-", input: "[1,\n2]\n")
        #expect(finished.status == 0)
        #expect(finished.output.first?.contains("\"body\":[1,2],\"outcome\":\"handled\"") == true)
    }

    @Test func aRefusedActionSuggestsTheMissingRule() async throws {
        let finished = try await SendTests.send("closed", "--body", "1")
        #expect(finished.status == CommandStatus.notAsExpected.rawValue)
        #expect(finished.output.first?.contains(#""outcome":"rejected","reason":"sourceNotAllowed","detail":"#) == true)
        let advice =
            "signalbox: c.yaml:5: to allow it, add 'internal' to 'from' of the plugin 'closed', such as from: [push, internal]"
        #expect(finished.errors.contains(advice), "\(finished.errors)")
    }

    @Test func adviceAboutTheRuleIsOnlyForARefusedAction() async throws {
        let configuration = """
            sources: { chat: { chat: { port: 0, absent_origin: allowed } }, page: { script: {} } }
            plugins:
              - { action: open, use: print, from: [ { not: page } ] }
              - { action: broken, use: fail, from: [ { not: page } ] }
              - { action: enter, use: join, tag: lobby, from: [chat] }
            """
        try await LinkTrial.with(["c.yaml": configuration]) { trial in
            for (action, status) in [("open", CommandStatus.done), ("broken", .notAsExpected)] {
                let finished = try await trial.run(["send", "c.yaml", action])
                #expect(finished.status == status.rawValue)
                #expect(!finished.errors.contains { $0.contains("to allow it") }, "\(finished.errors)")
            }
            let entered = try await trial.run(["send", "c.yaml", "enter"])
            #expect(entered.errors.last?.contains("use 'signalbox connect URL'") == true, "\(entered.errors)")
        }
    }

    @Test func theSuggestedRuleMakesTheFileValid() async throws {
        try await LinkTrial.with(["c.yaml": Self.configuration]) { trial in
            let refused = try await trial.run(["send", "c.yaml", "closed"])
            let rule = try #require(refused.errors.last?.split(separator: "such as ").last)
            let line = "  - { action: closed, use: log, from: [ { source: push } ] }"
            let changed = Self.configuration.replacing(line, with: "  - { action: closed, use: log, \(rule) }")
            _ = try trial.write(Array(changed.utf8), to: "c.yaml")
            #expect(try await trial.run(["send", "c.yaml", "closed"]).status == 0)
        }
    }

    @Test func aPluginThatSendsToAPageNamesTheCommandThatRunsIt() async throws {
        let configuration = """
            sources: { page: { script: { files: [] } } }
            plugins: [ { action: show, use: send, to: page, from: [internal] } ]
            """
        try await LinkTrial.with(["c.yaml": configuration]) { trial in
            let finished = try await trial.run(["send", "c.yaml", "show"])
            let words =
                "the source page does not run in this command; use 'signalbox run' and a message of another source"
            #expect(finished.output.first?.contains(words) == true, "\(finished)")
        }
    }

    @Test(arguments: [
        ("dance", #""outcome":"rejected","reason":"unknownAction""#),
        ("broken", #""outcome":"failed","reason":"threw""#),
    ])
    func anUnhandledActionIsStatusOne(_ action: String, _ words: String) async throws {
        let finished = try await SendTests.send(action)
        #expect(finished.status == CommandStatus.notAsExpected.rawValue)
        #expect(finished.output.count == 1)
        #expect(finished.output.first?.contains(words) == true)
    }

    @Test(arguments: [
        ("{\"a\":1", "unexpectedEnd at byte 6"), ("", "the body is empty"), ("{\"a\":1,\"a\":2}", "duplicateKey"),
        (String(repeating: "1", count: 101), "expected at most 100 bytes"),
    ])
    func anInvalidJSONBodyIsRefusedBeforeSending(_ body: String, _ words: String) async throws {
        let finished = try await SendTests.send("pay", "--body", body)
        #expect(finished.status == CommandStatus.invalidConfiguration.rawValue)
        #expect(finished.output.isEmpty)
        #expect(finished.errors.contains { $0.contains(words) }, "\(finished.errors)")
    }

    @Test func aFileThatCannotBeReadHasItsOwnStatus() async throws {
        let finished = try await SendTests.send("pay", "--file", "/nowhere")
        #expect(finished.status == CommandStatus.unreadableFile.rawValue)
    }

    @Test func standardInputIsBoundedByTheMessageLimit() async throws {
        let finished = try await SendTests.send("pay", "--file", "-", input: String(repeating: "1", count: 101))
        #expect(finished.status == CommandStatus.invalidConfiguration.rawValue)
        #expect(finished.errors.contains { $0.contains("it has more than 100 bytes") })
    }

    @Test func aHungCallEndsAtTheTimeout() async throws {
        let finished = try await SendTests.send("hang", "--timeout", "50ms")
        #expect(finished.status == CommandStatus.timeout.rawValue)
        #expect(finished.errors.contains("signalbox: timed out before the action had an outcome"))
    }

    @Test func aMissingConfigurationHasItsOwnStatus() async throws {
        let finished = try await CommandProcess.run(["send", "/nowhere.yaml", "a"])
        #expect(finished.status == CommandStatus.unreadableFile.rawValue)
    }
}
