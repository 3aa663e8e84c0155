import BrokerKit
import Foundation
import Testing

@testable import SignalboxCommand

@Suite(.timeLimit(.minutes(10))) struct ExplainLiveTests {
    /// A listening broker, a missing script, missing links, and plugins whose effects would be visible.
    private static func configuration(port: Int) -> String {
        """
        sources:
          push:
            mqtt:
              broker: mqtt://127.0.0.1:\(port)
              client_id: explain
              topics: [ { pattern: 'push/{action}' } ]
          page:
            script: { files: [ nowhere.js ] }
          links:
            links:
              routes: [ { pattern: 'myapp://{action}' } ]
              file: nowhere.txt
              standard_input: true
        plugins:
          - { action: file, use: file, path: actions.jsonl, from: [ { source: push } ] }
          - { action: keyed, use: file, path: actions.jsonl, from: [ { source: push } ], order: { key: id } }
          - { action: print, use: print, from: [ { source: push }, { source: page }, { source: links } ] }
          - { action: log, use: log, from: [ { source: push } ] }
          - { action: hang, use: suspend, from: [ { source: push } ] }
        """
    }

    @Test func explainRunsNothing() async throws {
        let listener = try QuietListener()
        try await LinkTrial.with(["c.yaml": Self.configuration(port: listener.port)]) { trial in
            for action in ["file", "keyed", "print", "log", "hang"] {
                let arguments = ["explain", "--body", "{}", "--source", "push", "--topic", "push/\(action)"]
                let finished = try await trial.run(arguments + ["c.yaml"])
                #expect(finished.status == 0)
                #expect(finished.output.count == 1 && finished.errors.isEmpty, "\(finished)")
                #expect(finished.output.first?.contains(#""verdict":{"code":"called","detail":""}"#) == true)
            }
            let page = #"{"action":"print"}"#
            let arguments = ["explain", "--body", page, "--source", "page", "c.yaml"]
            #expect(try await trial.run(arguments).status == 0)
            let link = try await trial.run(
                ["explain", "--url", "myapp://print", "c.yaml"],
                input: "myapp://a"
            )
            #expect(link.status == 0 && link.output.count == 1)
            let files = try FileManager.default.contentsOfDirectory(atPath: trial.folder.path)
            #expect(files.sorted() == ["c.yaml", "stdin"])
        }
        #expect(!listener.takeConnection())
        // Proves that the check above could fail.
        #expect(try listener.connect())
        #expect(listener.takeConnection())
    }

    @Test func aMessageIsReadFromAFileOrStandardInput() async throws {
        try await LinkTrial.with(["c.yaml": Self.configuration(port: 1), "message": "[1,\n2]"]) { trial in
            let arguments = ["explain", "--source", "push", "--topic", "push/print", "c.yaml"]
            let argument = try await trial.run(arguments + ["--body", "[1,2]"])
            #expect(argument.output.first?.contains(#""body":[1,2]"#) == true)
            #expect(try await trial.run(arguments + ["-f", "message"]).output == argument.output)
            #expect(try await trial.run(arguments + ["--file", "-"], input: "[1,2]").output == argument.output)
            let link = try await trial.run(["explain", "--url", "-", "c.yaml"], input: "myapp://print\r\n")
            #expect(link.output.first?.hasPrefix(#"{"url":"myapp://print","source":"links","#) == true)
        }
    }

    @Test(arguments: [
        (["--url", "myapp://dance"], "1h", "3600.0 seconds", 2),
        (["--body", "1", "--source", "push", "--topic", "push/dance"], "1h", "5.0 seconds", 64),
        (["--body", "1", "--source", "push", "--topic", "push/dance"], "1s", "1.0 seconds", 64),
    ])
    func aMessageWithoutAPluginWouldBeHeld(_ arguments: [String], _ hold: String, _ time: String, _ messages: Int)
        async throws
    {
        let configuration = Self.configuration(port: 1)
            .replacing("  push:\n", with: "  push:\n    hold: \(hold)\n")
            .replacing("  links:\n    links:\n", with: "  links:\n    hold: \(hold)\n    links:\n")
        try await LinkTrial.with(["c.yaml": configuration]) { trial in
            let finished = try await trial.run(["explain", "c.yaml"] + arguments)
            let words =
                "no plugin is registered for this action; the message is held for at most \(time) until one is, and then "
                + "rejected as unknownAction; at most \(messages) messages and 8388608 bytes are held"
            #expect(finished.status == CommandStatus.notAsExpected.rawValue)
            let line = try #require(finished.output.first)
            #expect(line.contains(#""verdict":{"code":"held","detail":"\#(words)"}"#), "\(line)")
            #expect(line.contains(#"{"stage":"plugin","passes":false,"detail":"\#(words)"}"#), "\(line)")
        }
    }

    @Test func aMessageThatReachesNoPluginIsStatusOne() async throws {
        try await LinkTrial.with(["c.yaml": Self.configuration(port: 1)]) { trial in
            for arguments in [
                ["--body", "{", "--source", "push", "--topic", "push/print"],
                ["--body", "1", "--source", "push", "--topic", "elsewhere"],
                ["--body", #"{"action":"file"}"#, "--source", "page"], ["--url", "https://shop.example/"],
                ["--url", "myapp://dance"],
            ] {
                let finished = try await trial.run(["explain", "c.yaml"] + arguments)
                #expect(finished.status == CommandStatus.notAsExpected.rawValue)
                #expect(finished.output.count == 1 && finished.errors.isEmpty, "\(finished)")
            }
        }
    }

    @Test func invalidRequestsHaveAStatusAndOneErrorLine() async throws {
        try await LinkTrial.with(["c.yaml": Self.configuration(port: 1)]) { trial in
            let rows: [(arguments: [String], status: CommandStatus, words: String)] = [
                (
                    ["--body", "1"], .invalidConfiguration,
                    "there are several sources; choose one with --source: push, page, links"
                ),
                (
                    ["--body", "1", "--source", "push"], .usage,
                    "'push' is an MQTT source; add the message's topic with --topic"
                ),
                (
                    ["--file", "none", "--source", "page"], .unreadableFile,
                    "none: cannot be read: No such file or directory"
                ),
                (
                    ["--url", "myapp://x", "--source", "page"], .invalidConfiguration,
                    "there is no links source 'page'; links sources are: links"
                ),
            ]
            for row in rows {
                let finished = try await trial.run(["explain", "c.yaml"] + row.arguments)
                #expect(finished.status == row.status.rawValue)
                #expect(finished.output.isEmpty)
                #expect(
                    finished.errors.count == 1 && finished.errors.first?.contains(row.words) == true,
                    "\(finished.errors)"
                )
            }
        }
        let missing = try await CommandProcess.run(["explain", "--url", "a:b", "/nowhere.yaml"])
        #expect(missing.status == CommandStatus.unreadableFile.rawValue)
    }

    /// A configuration whose plugins decline some bodies.
    private static let forwarding = """
        sources:
          push:
            mqtt:
              broker: mqtt://127.0.0.1:1
              client_id: explain
              publishing: {}
              topics:
                - { pattern: 'raw/{action}', payload: bytes }
                - { pattern: 'text/{action}', payload: text }
                - push/{action}
                - sensors/{room}
          chat: { chat: { port: 0, absent_origin: allowed } }
          links: { links: { routes: [ { pattern: 'myapp://{action}' } ], urls: ['myapp://tell'] } }
        plugins:
          - { action: tell, use: broadcast, to: chat, from: [push, links] }
          - { action: shout, use: broadcast, to: chat, tag: all, from: [push] }
          - { action: enter, use: join, from: [chat] }
          - { action: out, use: publish, source: push, topic: 'out/{id}', from: [chat] }
          - { action: away, use: send, to: push, topic: 'away/{id}', from: [chat] }
          - { action: again, use: echo, from: [chat, push] }
        """

    private static func entering(_ length: Int) -> String {
        #"{"action":"enter","body":{"tag":"\#(String(repeating: "a", count: length))"}}"#
    }

    @Test(arguments: [
        ("push/tell", #"{"tag":"a"}"#, nil), ("push/shout", "1", nil),
        (
            "push/tell", #"{"celsius":21.5}"#,
            "the body names no tag: missingMember at body.tag (byte 0); give the plugin a 'tag'"
        ),
        ("raw/shout", "1", "declined: an envelope cannot have bytes as its body"),
        ("chat", #"{"action":"enter"}"#, "the body names no tag"),
        ("chat", entering(1), nil), ("chat", entering(128), nil),
        ("chat", entering(0), "a tag has 1 to 128 bytes, but the one in the body has 0"),
        ("chat", entering(129), "a tag has 1 to 128 bytes, but the one in the body has 129"),
        ("chat", #"{"action":"out"}"#, nil), ("chat", #"{"action":"out","id":"a"}"#, nil),
        ("chat", #"{"action":"out","id":"a/b"}"#, "the id cannot be a level of a topic"),
        ("chat", #"{"action":"away","id":"a/b"}"#, "the id cannot be a level of a topic"),
        ("chat", #"{"action":"again"}"#, nil), ("push/again", "1", nil),
        ("text/again", "1", "did not come from a connection"), ("raw/again", "1", "did not come from a connection"),
        ("sensors/hall", "21.5", #"expected an envelope {"action": ...}, because neither the pattern of the route"#),
        ("sensors/hall", "{}", #"missingMember at action: expected an envelope {"action": ...}"#),
        ("sensors/hall", "warm", #"invalidSyntax at byte 0: expected an envelope {"action": ...}"#),
        ("sensors/hall", #"{"action":1}"#, "typeMismatch at action (byte 10): expected a string"),
    ])
    func aMessageThatThePluginDeclinesIsNotCalled(_ topic: String, _ payload: String, _ words: String?) async throws {
        try await LinkTrial.with(["c.yaml": Self.forwarding]) { trial in
            // Only one source has topics, so they name it.
            let place = topic == "chat" ? ["--source", "chat"] : ["--topic", topic]
            let finished = try await trial.run(["explain", "c.yaml", "--body", payload] + place)
            #expect(finished.status == (words == nil ? 0 : 1), "\(finished)")
            let line = try #require(finished.output.first)
            let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            let verdict = object?["verdict"] as? [String: String]
            #expect((verdict?["code"] == "called") == (words == nil))
            #expect(words.map { verdict?["detail"]?.contains($0) == true } != false, "\(line)")
        }
    }

    @Test func anOptionChoosesTheOnlySourceThatItFits() async throws {
        try await LinkTrial.with(["c.yaml": Self.forwarding]) { trial in
            for (options, source) in [
                (["--qos", "0", "--topic", "push/tell"], "push"), (["--binary"], nil), (["--principal", "a"], nil),
            ] as [([String], String?)] {
                let arguments = ["explain", "c.yaml", "--body", #"{"tag":"a"}"#]
                let finished = try await trial.run(arguments + options)
                guard let source else {
                    // The source is a chat, which does not fit the value.
                    #expect(finished.status == CommandStatus.usage.rawValue, "\(finished)")
                    continue
                }
                #expect(finished.output.first?.contains("\"source\":\"\(source)\"") == true, "\(finished)")
            }
            let link = try await trial.run(["explain", "c.yaml", "--url", "myapp://tell"])
            #expect(link.output.first?.contains(#""source":"links""#) == true, "\(link)")
        }
    }

    @Test func aRefusalNamesTheMessagesSourceAndTheRule() async throws {
        try await LinkTrial.with(["c.yaml": Self.forwarding]) { trial in
            let arguments = ["explain", "c.yaml", "--body", "1", "--topic", "push/enter"]
            let line = try await trial.run(arguments).output.first
            #expect(line?.contains("served by plugins[2], use: join") == true, "\(line ?? "")")
            #expect(line?.contains("not allowed: the message comes from push, but 'from' requires source chat") == true)
        }
    }

    @Test func outcomeLinesIncludeTheStagesOfADeadLetter() async throws {
        let configuration = """
            sources:
              links:
                links:
                  routes: [ { pattern: 'myapp://{action}' } ]
                  urls: [ 'myapp://print', 'myapp://broken', 'myapp://closed', 'myapp://dance', 'other:x' ]
            plugins:
              - { action: print, use: print, from: [ { source: links } ] }
              - { action: broken, use: fail, from: [ { source: links } ] }
              - { action: closed, use: print, from: [ { source: internal } ] }
            """
        try await LinkTrial.with(["c.yaml": configuration]) { trial in
            let finished = try await trial.run(["run", "c.yaml", "--outcomes"])
            func stages(_ words: String) throws -> [String]? {
                let line = try #require(finished.output.first { $0.contains("\"outcome\":") && $0.contains(words) })
                let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
                let steps = object?["explanation"] as? [[String: Any]]
                #expect(steps?.dropLast().contains { $0["passes"] as? Bool != true } != true)
                #expect(steps.map { $0.last?["passes"] as? Bool == false } != false)
                return steps?.compactMap { $0["stage"] as? String }
            }
            #expect(try stages(#""action":"print""#) == nil)
            #expect(try stages(#""action":"broken""#) == ["envelope", "plugin", "access", "attempts"])
            #expect(try stages(#""action":"closed""#) == ["envelope", "plugin", "access"])
            let refused = try #require(finished.errors.first { $0.contains("sourceNotAllowed") })
            #expect(
                refused.contains("name it in the plugin's 'from'; the dead letter, such as a line of 'run --outcomes'")
            )
            #expect(try stages(#""action":"dance""#) == ["envelope", "plugin"])
            #expect(try stages(#""scheme":"other""#) == ["envelope"])
        }
    }
}
