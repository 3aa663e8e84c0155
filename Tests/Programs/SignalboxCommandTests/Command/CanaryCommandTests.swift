import BrokerKit
import Foundation
import Testing

@testable import SignalboxCommand

/// Plants secrets in the input of the commands and searches all their output for them. Messages and URLs appear on
/// purpose only in those members of stdout's lines that the documentation names.
@Suite(.timeLimit(.minutes(10))) struct CanaryCommandTests {
    private static let c = CanaryRun.canary

    private static let urls = [
        "https://u:\(c)@shop.example/x", "https://shop.example/pay?token=\(c)", "myapp://do/x?token=\(c)%zz",
        "not a url token=\(c)", "https://evil.example/?access_token=\(c)", "javascript:token=\(c)",
        "https://home.example/?token=\(c)", "https://shop.example:99/?token=\(c)", "https://\(c)%zz.example/",
        "https://shop.example/pay/\(c)#\(c)",
    ]

    private static let files = [
        "routes.yaml": """
        routes:
          - { pattern: 'myapp://do/{action}' }
          - { pattern: 'https://shop.example/{action}?token={token}' }
        """,
        "navigation.yaml": """
        navigation:
          chain:
            - schemes: [https, http, myapp]
            - { hosts: [shop.example], ports: standard }
            - home: https://home.example/
            - deep_links: [myapp]
          fallback: cancel
        """,
        "page.yaml": """
        sources: { page: { script: {} } }
        plugins:
          - { action: quiet, use: reply, value: 1, from: [ { source: page }, { source: internal } ] }
          - { action: broken, use: fail, from: [ { source: page }, { source: internal } ] }
          - { action: closed, use: reply, value: 1, from: [ { not: { source: internal } } ] }
          - { action: hang, use: suspend, timeout: 200ms, from: [ { source: internal } ] }
        drain_limit: 200ms
        """,
        "page.js": """
        console.log('password=\(c)')
        console.error({ authorization: 'Bearer \(c)' })
        const handlers = window.webkit.messageHandlers
        for (const name of ['quiet', 'broken', 'nobody']) handlers[name]?.postMessage({ token: '\(c)' })
        signalbox.call('broken', { cookie: '\(c)' }).catch(error => console.warn('failed: token=\(c)', error.message))
        setTimeout(() => { throw new Error('https://u:\(c)@h/?token=\(c)') })
        Promise.reject(new Error('secret=\(c)'))
        """,
        "wrong.js": "let token = '\(c)' let",
    ]

    @Test func aURLAppearsOnlyInItsOwnMembers() async throws {
        let input = Self.urls.joined(separator: "\n")
        let shown: Set<String> = ["url", "input", "path", "segments", "query", "fragment", "body", "id"]
        for arguments in [["parse", "--stdin"], ["parse", "--stdin", "--routes", "FOLDER/routes.yaml"]] {
            let run = try await CanaryRun(arguments, files: Self.files, input: input)
            #expect(run.status == CommandStatus.notAsExpected.rawValue)
            try check(run, without: shown, lines: Self.urls.count)
        }
        let arguments = ["navigate", "--stdin", "FOLDER/navigation.yaml"]
        let run = try await CanaryRun(arguments, files: Self.files, input: input)
        #expect(run.status == CommandStatus.notAsExpected.rawValue)
        try check(run, without: ["url", "input"], lines: Self.urls.count)
    }

    @Test(arguments: Self.urls)
    func anInvalidBaseURLIsNotRepeated(_ url: String) async throws {
        let run = try await CanaryRun(["parse", "a", "--base", url])
        #expect(!run.errors.contains(Self.c), "\(run.errors)")
    }

    @Test func consoleLinesAndMessagesAreLoggedWithoutSecrets() async throws {
        let arguments = ["bridge", "FOLDER/page.js", "FOLDER/page.yaml", "--log-level", "trace"]
        let run = try await CanaryRun(arguments, files: Self.files)
        #expect(run.status == CommandStatus.notAsExpected.rawValue)
        try check(run, without: ["body", "original"], lines: 4)
        for words in [
            "password=[redacted]", #""authorization":"[redacted]""#, "https://[redacted]@h/?token=[redacted]",
            "secret=",
        ] {
            #expect(run.diagnostics.contains { $0.contains(words) }, "\(words) in \(run.errors)")
        }
        let wrong = try await CanaryRun(["bridge", "FOLDER/wrong.js", "--log-level", "trace"], files: Self.files)
        #expect(wrong.status == CommandStatus.notAsExpected.rawValue)
        #expect(!wrong.errors.isEmpty && !wrong.everything.contains(Self.c), "\(wrong.errors)")
    }

    @Test(arguments: ["quiet", "broken", "nobody", "closed", "hang"])
    func aSentMessageAppearsOnlyInItsOutcome(_ action: String) async throws {
        let run = try await CanaryRun(
            [
                "send", "FOLDER/page.yaml", action, "--id", "token=\(Self.c)", "--file", "-",
                "--log-level", "trace",
            ],
            files: Self.files,
            input: #"{"token":"\#(Self.c)"}"#
        )
        #expect(run.status == (action == "quiet" ? 0 : CommandStatus.notAsExpected.rawValue))
        try check(run, without: ["body", "id"], lines: 1)
    }

    @Test(arguments: [#"{"token":"\#(c)""#, "\(c)", #""\#(String(repeating: c, count: 10_000))""#, "\"\(c)\u{1}\""])
    func aRefusedBodyIsNotRepeated(_ body: String) async throws {
        let arguments = ["send", "FOLDER/page.yaml", "quiet", "--file", "-", "--log-level", "trace"]
        let run = try await CanaryRun(arguments, files: Self.files, input: body)
        #expect(run.status == CommandStatus.invalidConfiguration.rawValue)
        #expect(!run.errors.isEmpty && !run.everything.contains(Self.c), "\(run.errors)")
    }

    /// Each entry is stdin and the options that describe it. Of a message, `id` and `body` may contain the canary.
    private static let explained: [(String, [String])] =
        urls.map { ($0, ["--url", "-", "--source", "links"]) } + [
            (#"{"token":"\#(c)"}"#, ["--file", "-", "--source", "push", "--topic", "push/\(c)/closed"]),
            (#"{"token":"\#(c)"}"#, ["--file", "-", "--source", "push", "--topic", "nowhere/\(c)"]),
            (#"{"token":"\#(c)","token":1}"#, ["--file", "-", "--source", "push", "--topic", "push/\(c)/closed"]),
            (
                #"{"action":"token=\#(c)","body":"\#(c)"}"#,
                ["--file", "-", "--source", "page", "--origin", "https://app.example"]
            ),
            (#"{"action":"closed","id":"token=\#(c)","body":{"a":"\#(c)"}}"#, ["--file", "-", "--source", "page"]),
            (
                #"{"action":"closed","id":"\#(c)\#(String(repeating: c, count: 100))"}"#,
                ["--file", "-", "--source", "page"]
            ),
            ("\(c)", ["--file", "-", "--source", "page", "--handler", "closed"]),
        ]

    @Test(arguments: explained.indices)
    func anExplanationShowsTheMessageOnlyInItsOwnMembers(_ number: Int) async throws {
        let (input, options) = Self.explained[number]
        let configuration = """
            sources:
              page: { script: {} }
              push:
                mqtt:
                  broker: mqtt://127.0.0.1:1
                  client_id: canary-test
                  username: { env: TEST_USER }
                  password: { env: TEST_PASSWORD }
                  topics: [ { pattern: 'push/{device}/{action}' } ]
              links:
                links:
                  routes: [ { pattern: 'myapp://do/{action}' }, { pattern: 'https://shop.example/{action}?token={token}' } ]
                  urls: [ 'myapp://do/x' ]
            plugins:
              - { action: closed, use: reply, value: 1, from: [ { source: internal } ] }
              - { action: pay, use: reply, value: 1, from: [ { source: links } ] }
            navigation:
              chain: [ { schemes: [https, http, myapp] }, { hosts: [shop.example], ports: standard } ]
              fallback: cancel
            """
        let run = try await CanaryRun(
            ["explain"] + options + ["FOLDER/c.yaml"],
            files: ["c.yaml": configuration],
            environment: ["TEST_USER": "\(Self.c)-user", "TEST_PASSWORD": "\(Self.c)-password"],
            input: input
        )
        #expect(run.status == 0 || run.status == CommandStatus.notAsExpected.rawValue, "\(run.errors)")
        #expect(!run.errors.contains(Self.c), "\(run.errors)")
        let objects = try run.objects(without: ["url", "input", "topic", "id", "body", "navigation"])
        #expect(objects.count == 1)
        #expect(!objects.description.contains(Self.c), "\(objects)")
    }

    private static func reportsLargeMessage(_ run: CanaryRun) -> Bool {
        run.diagnostics.contains { $0.contains("larger") || $0.contains("1 MiB") || $0.contains("bytes") }
    }

    @Test func aSubscriptionShowsMessagesOnlyOnStdout() async throws {
        try await Broker.with(BrokerOptions(users: ["\(Self.c)-user": "\(Self.c)-password"])) { broker in
            let environment = ["TEST_PASSWORD": "\(Self.c)-password"]
            try await publish(#"{"token":"\#(Self.c)"}"#, to: "push/\(Self.c)/x", broker)
            try await publish(String(repeating: Self.c, count: 200_000), to: "push/\(Self.c)/large", broker)
            let run = try await GrowingTime.run { time in
                try await CanaryRun(
                    [
                        "subscribe", broker.url, "--topic", "push/{device}/{name}", "--user", "\(Self.c)-user",
                        "--password-env", "TEST_PASSWORD", "--timeout", time, "--log-level", "trace",
                    ],
                    environment: environment
                )
            } until: {
                $0.status == 0 && Self.reportsLargeMessage($0)
            }
            #expect(run.status == 0)
            try check(run, without: ["topic", "payload", "captures", "userProperties"], lines: 1)
            #expect(Self.reportsLargeMessage(run))
            let refused = try await CanaryRun(
                [
                    "subscribe", broker.url, "--topic", "a", "--user", "\(Self.c)-other", "--password-env",
                    "TEST_PASSWORD", "--log-level", "trace",
                ],
                environment: environment
            )
            #expect(refused.status == CommandStatus.refused.rawValue)
            #expect(!refused.errors.isEmpty && !refused.everything.contains(Self.c), "\(refused.errors)")
        }
    }

    private func publish(_ payload: String, to topic: String, _ broker: Broker) async throws {
        let file = broker.folder.appendingPathComponent("payload")
        try payload.write(to: file, atomically: true, encoding: .utf8)
        let arguments = [
            "-h", "127.0.0.1", "-p", "\(broker.port)", "-u", "\(Self.c)-user", "-P", "\(Self.c)-password", "-V", "5",
            "-q", "1", "-r", "-t", topic, "-f", file.path, "-D", "publish", "user-property", "authorization",
            "Bearer \(Self.c)",
        ]
        try #require(try await RunningProgram("mosquitto_pub", arguments).status() == 0)
    }

    @Test func tenThousandHandledMessagesAreNotLogged() async throws {
        let configuration = """
            sources: { links: { links: { routes: [ { pattern: 'myapp://do/{action}' } ], standard_input: true } } }
            plugins: [ { action: work, use: reply, value: 1, from: [ { source: links } ] } ]
            """
        let run = try await CanaryRun(
            ["run", "FOLDER/c.yaml", "--log-level", "info"],
            files: ["c.yaml": configuration],
            input: String(repeating: "myapp://do/work?token=\(Self.c)\n", count: 10_000)
        )
        #expect(run.status == 0)
        #expect(run.output.isEmpty)
        #expect(run.diagnostics.last == "signalbox: handled 10000, rejected 0, failed 0, abandoned 0, dead letters 0")
        #expect(run.diagnostics.count <= 3, "\(run.errors)")
        #expect(!run.errors.contains(Self.c))
    }

    /// Checks that stderr does not contain the canary, and stdout only in these members.
    private func check(_ run: CanaryRun, without members: Set<String>, lines: Int) throws {
        #expect(!run.errors.contains(Self.c), "\(run.errors)")
        let objects = try run.objects(without: members)
        #expect(objects.count == lines, "\(run.output)")
        #expect(run.output.contains(Self.c), "stdout shows the message")
        for object in objects { #expect(!"\(object)".contains(Self.c), "\(object)") }
    }
}
