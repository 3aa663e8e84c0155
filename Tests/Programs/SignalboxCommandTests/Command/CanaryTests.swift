import BrokerKit
import Foundation
import Testing

@testable import SignalboxCommand

/// Plants secrets in every origin and searches all output of `run`, at its most verbose log level, for them.
///
/// Messages appear on purpose in two places, both on stdout: the lines of the plugin `print`, and the member
/// `deadLetter` of `--outcomes`. The canaries of payloads are expected there.
@Suite(.timeLimit(.minutes(10))) struct CanaryTests {
    private static let user = "Canary-user-7Q"
    private static let password = "Canary-password-7Q"
    /// Planted in payloads, properties and links.
    private static let planted = "Canary-planted-7Q"

    private static let configuration = """
        sources:
          push:
            mqtt:
              broker: { env: TEST_BROKER }
              client_id: canary-test
              username: { env: TEST_USER }
              password: { env: TEST_PASSWORD }
              topics: [ { pattern: 'push/{device}/{action}' }, { pattern: 'events' } ]
        plugins:
          - { action: show, use: print, from: [ { source: push } ] }
          - { action: quiet, use: reply, value: 1, from: [ { source: push } ] }
          - { action: closed, use: log, from: [ { source: push, topic: nowhere } ] }
          - { action: broken, use: fail, from: [ { source: push } ] }
          - { action: hang, use: suspend, timeout: 300ms, from: [ { source: push } ] }
        drain_limit: 500ms
        """

    private static let messages: [(topic: String, payload: String)] = [
        ("push/d/show", #"{"token":"\#(planted)"}"#),
        ("push/d/quiet", #"{"token":"\#(planted)"}"#),
        ("push/d/nobody", #"{"password":"\#(planted)"}"#),
        ("push/d/closed", #"{"authorization":"Bearer \#(planted)"}"#),
        ("push/d/broken", #"{"url":"https://u:\#(planted)@shop.example/?token=\#(planted)"}"#),
        ("push/d/broken", "token=\(planted)"),
        ("push/d/hang", #"{"secret":"\#(planted)"}"#),
        ("events", #"{"action":"broken","id":"token=\#(planted)","body":{"cookie":"\#(planted)"}}"#),
        ("events", #"{"action":"token=\#(planted)","id":"1"}"#),
        ("events", #"{"action":"broken","token":"\#(planted)","token":"\#(planted)"}"#),
    ]

    @Test(arguments: DiagnosticFormat.allCases)
    func outputOmitsThePasswordAndMessageContent(_ format: DiagnosticFormat) async throws {
        try await Broker.with(BrokerOptions(users: [Self.user: Self.password, "other": "other"])) { broker in
            try await TemporaryFolder.with { folder in
                let file = folder.appendingPathComponent("signalbox.yaml")
                try Self.configuration.write(to: file, atomically: true, encoding: .utf8)
                let process = try CommandProcess(
                    ["run", file.path, "--outcomes", "--log-level", "trace", "--log-format", format.rawValue],
                    environment: ["TEST_BROKER": broker.url, "TEST_USER": Self.user, "TEST_PASSWORD": Self.password],
                    folder: folder
                )
                try #require(await process.errors.line(with: "subscribed to") != nil)
                var output: [String] = []
                for (topic, payload) in Self.messages {
                    try await Self.publish(payload, topic, broker)
                    var line = try #require(await process.output.line(with: "\"source\""))
                    if topic == "push/d/show" {
                        #expect(line.contains(Self.planted), "print shows the body")
                        line = try #require(await process.output.line(with: "\"outcome\":"))
                    }
                    output.append(line)
                }
                process.signal(SIGTERM)
                let (errors, rest) = (await process.errors.rest(), await process.output.rest())
                await process.ends(with: CommandStatus.drainIncomplete.rawValue)
                #expect(!errors.joined().contains("Canary"), "\(errors.filter { $0.contains("Canary") })")
                #expect(rest.isEmpty && output.count == Self.messages.count)
                try Self.check(output)
            }
        }
    }

    /// Checks that every line is JSON, and has no canary outside the dead letter's message and the sender's id.
    private static func check(_ lines: [String]) throws {
        var shown = 0
        for line in lines {
            let object = try JSONSerialization.jsonObject(with: Data(line.utf8))
            var outcome = try #require(object as? [String: Any], "\(line)")
            if outcome.removeValue(forKey: "deadLetter") != nil { shown += 1 }
            outcome["id"] = nil
            #expect(!"\(outcome)".contains("Canary"), "\(outcome)")
        }
        #expect(shown == messages.count - 2)
    }

    @Test func aRefusedPasswordIsNotRepeated() async throws {
        try await Broker.with(BrokerOptions(users: [Self.user: "another"])) { broker in
            try await TemporaryFolder.with { folder in
                let file = folder.appendingPathComponent("signalbox.yaml")
                try Self.configuration.write(to: file, atomically: true, encoding: .utf8)
                let process = try CommandProcess(
                    ["run", file.path, "--outcomes", "--log-level", "trace"],
                    environment: ["TEST_BROKER": broker.url, "TEST_USER": Self.user, "TEST_PASSWORD": Self.password]
                )
                var errors = [try #require(await process.errors.line(with: "broker"))]
                process.signal(SIGTERM)
                errors += await process.errors.rest()
                #expect(!(errors + (await process.output.rest())).joined().contains("Canary"))
            }
        }
    }

    @Test(arguments: [
        "mqtt://kiosk:Canary-7Q@127.0.0.1", "mqtt://kiosk:Canary-7Q@127.0.0.1:x", "http://kiosk:Canary-7Q@h",
        "mqtt://h?password=Canary-7Q", "mqtt://kiosk:Can/ary-Canary-7Q@h",
    ])
    func aBrokerURLWithASecretIsRefusedWithoutRepeatingIt(_ url: String) async throws {
        try await TemporaryFolder.with { folder in
            let file = folder.appendingPathComponent("signalbox.yaml")
            try Self.configuration.write(to: file, atomically: true, encoding: .utf8)
            for arguments in [["run", file.path], ["subscribe", url, "--topic", "a"]] {
                let environment = ["TEST_BROKER": url, "TEST_USER": Self.user, "TEST_PASSWORD": Self.password]
                let finished = try await CommandProcess.run(arguments, environment: environment)
                #expect(finished.status != 0)
                #expect(!(finished.errors + finished.output).joined().contains("Canary"), "\(finished.errors)")
            }
        }
    }

    private static let links = """
        sources:
          links:
            links:
              routes:
                - { pattern: 'myapp://do/{action}' }
                - { pattern: 'myapp://login/{token}', action: login, once: true }
                - { pattern: 'https://shop.example/pay?access_token={access_token}', action: pay }
              urls:
                - 'myapp://do/nobody?token=\(planted)'
                - 'myapp://login/\(planted)'
                - 'https://shop.example/pay?access_token=\(planted)'
                - 'https://shop.example/nowhere?token=\(planted)'
                - 'https://u:\(planted)@shop.example/pay'
                - 'myapp://do/broken?token=\(planted)%zz'
                - 'not a link token=\(planted)'
        plugins:
          - { action: login, use: reply, value: 1, from: [ { source: links } ] }
          - { action: pay, use: fail, from: [ { source: links } ] }
        """

    @Test func aLinksSecretAppearsOnlyInItsDeadLetter() async throws {
        try await LinkTrial.with(["c.yaml": Self.links]) { trial in
            let finished = try await trial.run(["run", "c.yaml", "--outcomes", "--log-level", "trace"])
            #expect(finished.output.count == 7)
            #expect(!finished.errors.joined().contains("Canary"), "\(finished.errors)")
            for line in finished.output {
                let object = try JSONSerialization.jsonObject(with: Data(line.utf8))
                var outcome = try #require(object as? [String: Any])
                outcome["deadLetter"] = nil
                #expect(!"\(outcome)".contains("Canary"), "\(outcome)")
            }
        }
    }

    /// Publishes a payload with a user property that resembles a header.
    private static func publish(_ payload: String, _ topic: String, _ broker: Broker) async throws {
        let file = broker.folder.appendingPathComponent("payload-\(UUID().uuidString)")
        try payload.write(to: file, atomically: true, encoding: .utf8)
        let arguments = [
            "-h", "127.0.0.1", "-p", "\(broker.port)", "-u", "other", "-P", "other", "-V", "5", "-q", "1", "-t", topic,
            "-f", file.path, "-D", "publish", "user-property", "authorization", "Bearer \(planted)",
        ]
        try #require(try await RunningProgram("mosquitto_pub", arguments).status() == 0)
    }
}

/// Plants secrets in WebSocket sources and searches all output of the commands for them.
@Suite(.timeLimit(.minutes(10))) struct CanaryWebSocketTests {
    private static let c = CanaryRun.canary
    private static let token = "\(c)-\(c)-\(c)"

    @Test func pathQueryAndHeadersAreNotShown() async throws {
        for answer in ["HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n", "nonsense \(Self.c)\r\n\r\n"] {
            let server = try AnsweringPort(answer)
            let run = try await CanaryRun(
                [
                    "connect", "ws://127.0.0.1:\(server.port)/\(Self.c)?token=\(Self.c)", "--bearer-env", "TEST_TOKEN",
                    "--header-env", "X-Key: TEST_TOKEN", "--log-level", "trace",
                ],
                environment: ["TEST_TOKEN": Self.token]
            )
            #expect(run.status == (answer.hasPrefix("HTTP") ? CommandStatus.refused : .protocolBroken).rawValue)
            #expect(!run.errors.isEmpty && !run.everything.contains(Self.c), "\(run.everything)")
        }
    }

    @Test func aPasswordIsNotShown() async throws {
        let server = try AnsweringPort("HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n")
        let arguments = ["connect", "ws://127.0.0.1:\(server.port)/", "-u", "kiosk", "--password-env", "TEST_PASSWORD"]
        let run = try await CanaryRun(
            arguments + ["--log-level", "trace"],
            environment: ["TEST_PASSWORD": Self.token]
        )
        #expect(run.status == CommandStatus.refused.rawValue)
        #expect(run.errors.contains("Check --user and the password of --password-env"))
        let encoded = Data("kiosk:\(Self.token)".utf8).base64EncodedString()
        #expect(!run.everything.contains(Self.c) && !run.everything.contains(encoded), "\(run.everything)")
    }

    @Test func secretsOfAConfigurationAreNeverShown() async throws {
        let files = [
            "c.yaml": """
            sources:
              feed:
                feed:
                  url: { env: TEST_URL }
                  bearer: { file: FOLDER/token }
                  headers: { X-Key: { env: TEST_TOKEN } }
                  opening_messages: [ { env: TEST_TOKEN } ]
                  reconnect: { first: 10ms, cap: 20ms }
              chat: { chat: { port: 0, principals: { kitchen: { env: TEST_TOKEN } } } }
            plugins: [ { action: a, use: log, from: [ { source: feed }, { source: chat, principal: kitchen } ] } ]
            """, "token": Self.token,
        ]
        let environment = ["TEST_URL": "ws://127.0.0.1:1/\(Self.c)?token=\(Self.c)", "TEST_TOKEN": Self.token]
        let payload = #"{"action":"a"}"#
        for arguments in [
            ["check", "FOLDER/c.yaml"], ["connect", "FOLDER/c.yaml", "--log-level", "trace"],
            ["connect", "FOLDER/c.yaml", "--retry", "--timeout", "500ms", "--log-level", "trace"],
            ["explain", "--body", payload, "--source", "feed", "FOLDER/c.yaml"],
            [
                "explain", "--body", payload, "--source", "chat", "--principal", "kitchen", "FOLDER/c.yaml",
            ],
        ] {
            let run = try await CanaryRun(arguments, files: files, environment: environment)
            #expect(!run.everything.isEmpty && !run.everything.contains(Self.c), "\(arguments): \(run.everything)")
        }
    }

    @Test func aClientsMessageAppearsOnlyInItsDeadLetter() async throws {
        let keys = "principals: { kitchen: { env: TOKEN } }, query_tokens: true"
        try await ChatTrial.with(ChatTrial.configuration(keys), environment: ["TOKEN": Self.token]) { trial in
            let message = #"{"action":"broken","id":"1","body":{"token":"\#(Self.c)"}}"#
            let byQuery = try await CommandProcess.run([
                "connect", "\(trial.url)?token=\(Self.token)", "--body", message, "--count", "1",
            ])
            #expect(byQuery.status == 0)
            let wrong = try await CommandProcess.run(["connect", "\(trial.url)?token=\(Self.c)"])
            #expect(wrong.status == CommandStatus.refused.rawValue)
            trial.server.signal(SIGTERM)
            let errors = await trial.server.errors.rest()
            #expect(!(byQuery.output + byQuery.errors + wrong.errors + errors).joined().contains(Self.c))
            for line in await trial.server.output.rest() {
                var object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
                object?["deadLetter"] = nil
                #expect(object?.description.contains(Self.c) == false, "\(line)")
            }
        }
    }
}
