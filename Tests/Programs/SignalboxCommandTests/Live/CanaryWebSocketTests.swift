import BrokerKit
import Foundation
import Testing

@testable import SignalboxCommand

/// Secrets of WebSocket sources, looked for in all that the commands write.
@Suite(.timeLimit(.minutes(10))) struct CanaryWebSocketTests {
    private static let c = CanaryRun.canary
    private static let token = "\(c)-\(c)-\(c)"

    @Test func neitherPathNorQueryNorHeadersAreShown() async throws {
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

    @Test func aConfigurationsSecretsAreNotShownWhateverIsAsked() async throws {
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
            ["check", "FOLDER/c.yaml"], ["connect", "--config", "FOLDER/c.yaml", "--log-level", "trace"],
            ["connect", "--config", "FOLDER/c.yaml", "--reconnect", "--timeout", "500ms", "--log-level", "trace"],
            ["explain", "--payload", payload, "--source", "feed", "--config", "FOLDER/c.yaml"],
            [
                "explain", "--payload", payload, "--source", "chat", "--principal", "kitchen", "--config",
                "FOLDER/c.yaml",
            ],
        ] {
            let run = try await CanaryRun(arguments, files: files, environment: environment)
            #expect(!run.everything.isEmpty && !run.everything.contains(Self.c), "\(arguments): \(run.everything)")
        }
    }

    @Test func whatAClientSendsIsShownWhereMessagesAre() async throws {
        let keys = "principals: { kitchen: { env: TOKEN } }, query_tokens: true"
        try await ChatTrial.with(ChatTrial.configuration(keys), environment: ["TOKEN": Self.token]) { trial in
            let message = #"{"action":"broken","id":"1","body":{"token":"\#(Self.c)"}}"#
            let byQuery = try await CommandProcess.run([
                "connect", "\(trial.url)?token=\(Self.token)", "--message", message, "--count", "1",
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
