import Foundation
import InMemoryTracing
import Logging
import MetricsTestKit
import SignalboxCore
import SignalboxTesting
import TestSupport
import Testing
import Tracing

@testable import Signalbox

@Suite struct RedactionTests {
    /// Texts that hold the secret `Canary7Q`, and the expected results without it.
    private static let secrets: [(String, String)] = [
        // key=value
        ("token=Canary7Q", "token=[redacted]"),
        ("refused: token=Canary7Q&page=2", "refused: token=[redacted]&page=2"),
        ("https://shop.example/a?x=1&access_token=Canary7Q#top", "https://shop.example/a?x=1&access_token=[redacted]"),
        ("PASSWORD = Canary7Q and more", "PASSWORD = [redacted] and more"),
        ("login(user: anna, password: Canary7Q)", "login(user: anna, password: [redacted])"),
        ("Login(password=Canary7Q, user=anna)", "Login(password=[redacted], user=anna)"),
        ("passwd:Canary7Q, then", "passwd:[redacted], then"),
        ("client-secret: Canary7Q.", "client-secret: [redacted]."),
        ("mqtt.password: Canary7Q\nbroker: b", "mqtt.password: [redacted]\nbroker: b"),
        ("accessToken: Canary7Q", "accessToken: [redacted]"),
        ("X-Api-Key: Canary7Q", "X-Api-Key: [redacted]"),
        ("password: PermissionCanary7Q", "password: [redacted]"),
        ("AWS_SECRET_ACCESS_KEY=Canary7Q/abc+def==", "AWS_SECRET_ACCESS_KEY=[redacted]"),
        ("pwd=Canary7Q;server=db", "pwd=[redacted]"),
        ("password => Canary7Q", "password => [redacted]"),
        ("next=https%3A%2F%2Fa.example%3Ftoken%3DCanary7Q", "next=https%3A%2F%2Fa.example%3Ftoken%3D[redacted]"),
        ("password=a,Canary7Q;b)c", "password=[redacted]"),
        ("mosquitto_pub --password Canary7Q -t x", "mosquitto_pub --password [redacted] -t x"),
        ("mosquitto_pub --password=Canary7Q -t x", "mosquitto_pub --password=[redacted] -t x"),
        // quoted
        (#"{"token":"Canary7Q","page":2}"#, #"{"token":"[redacted]","page":2}"#),
        (#"{"password" : "Canary7Q with blanks", "page": 2}"#, #"{"password" : "[redacted]", "page": 2}"#),
        (#"{"password":"a\"Canary7Q","page":2}"#, #"{"password":"[redacted]","page":2}"#),
        (#"body was "{\"token\":\"Canary7Q\",\"page\":2}""#, #"body was "{\"token\":\"[redacted]\",\"page\":2}""#),
        (#"["Authorization": "Bearer Canary7Q", "Accept": "a"]"#, #"["Authorization": "[redacted]", "Accept": "a"]"#),
        ("{'token': 'Canary7Q', 'page': 2}", "{'token': '[redacted]', 'page': 2}"),
        (#"token: Optional("Canary7Q"), page: 2"#, "token: [redacted], page: 2"),
        (#"{"secret": {"value": "Canary7Q", "n": 1}, "page": 2}"#, #"{"secret": [redacted], "page": 2}"#),
        (#"{"credentials":["a","Canary7Q"]}"#, #"{"credentials":[redacted]}"#),
        (
            #"cannot open "https://a.example/?token=Canary7Q", gone"#,
            #"cannot open "https://a.example/?token=[redacted]", gone"#
        ),
        (#"{"token":7,"pin_secret":Canary7Q,"page":2}"#, #"{"token":[redacted],"pin_secret":[redacted],"page":2}"#),
        (#"{"password":"Canary7Q"#, #"{"password":"[redacted]"#),
        // headers
        ("Authorization: Bearer Canary7Q", "Authorization: [redacted]"),
        (
            "Authorization: Digest username=\"a\", response=\"Canary7Q\"\nAccept: */*",
            "Authorization: [redacted]\nAccept: */*"
        ),
        ("Cookie: theme=dark; session=Canary7Q\r\nHost: a", "Cookie: [redacted]\r\nHost: a"),
        ("Set-Cookie: session=Canary7Q; Path=/", "Set-Cookie: [redacted]"),
        (
            #"curl -H "Authorization: Bearer Canary7Q" https://a.example"#,
            #"curl -H "Authorization: [redacted]" https://a.example"#
        ),
        // schemes
        ("sent Bearer Canary7Q to it", "sent Bearer [redacted] to it"),
        ("sent bearer  Canary7Q", "sent bearer  [redacted]"),
        ("401 for Basic Q2FuYXJ5N1E6Canary7Q=, try again", "401 for Basic [redacted], try again"),
        ("basic dXNlcjpDYW5hcnk3UQ==Canary7Q", "basic [redacted]"),
        ("Basic xyzCanary7Q", "Basic [redacted]"),
        // URLs
        ("mqtt://anna:Canary7Q@broker.example:1883/", "mqtt://[redacted]@broker.example:1883/"),
        ("see https://Canary7Q@git.example/a.git.", "see https://[redacted]@git.example/a.git."),
        ("postgres://u:p@Canary7Q@db/x", "postgres://[redacted]@db/x"),
        ("mqtts://anna:pa/Canary7Q@broker.example", "mqtts://[redacted]@broker.example"),
        (#"{"broker":"mqtt://anna:Canary7Q@b"}"#, #"{"broker":"mqtt://[redacted]@b"}"#),
    ]

    @Test(arguments: secrets) func secretsAreRedactedAndOtherTextIsUnchanged(_ text: String, _ expected: String) {
        let redacted = Redaction.redacted(text)
        #expect(redacted == expected)
        #expect(!redacted.contains("Canary7Q"))
        #expect(Redaction.redacted(redacted) == redacted, "redaction is idempotent")
        #expect(!Redaction.redacted("before " + text + " behind").contains("Canary7Q"))
    }

    @Test(arguments: [
        "", "plain", "unknownAction: no plugin is registered for this action",
        "typeMismatch at body.token (byte 61): expected Int", "unexpected token: }", "token", "the token is missing",
        "plugin payment allows source push, which does not cover this origin of chat",
        "environment variable MQTT_PASSWORD is not set", "max_tokens=5", "tokenizer: fast", "passwords: 3",
        "password: nil", #"{"token":null,"page":2}"#, "password=", "password: ", "if token == nil",
        "bearer token missing", "Basic authentication failed", "basic checks failed", "Bearer", "Basic ",
        "https://shop.example:8080/a@b?x=1", "mailto:anna@example.org", "anna@example.org", "git@git.example:a/b.git",
        "https://[::1]:80/x@y", "wss://a.example/@anna/status", "http://host:port/ is expected",
        "1:2 a=b c:d {\"e\":\"f\"}", "日本 = é, 🙂: 👨‍👩‍👧", "a://b://c", "://", "secret://x", "--token --verbose", "--token",
        "key=value; keyboard: de", "passport: D123", "secretary: anna", "cookiecutter=1",
        "cannot read the file staff.token: No such file or directory", "run/secrets/api-key: Permission denied (13)",
        "password: Is a directory", "shop.token: cannot be read: Permission denied",
    ])
    func textWithoutSecretsIsUnchanged(_ text: String) {
        #expect(Redaction.redacted(text) == text)
    }

    @Test func noSystemErrorIsRemoved() {
        for code in Int32(1)...133 {
            let text = "cannot read staff.token: \(String(cString: strerror(code)))"
            // Linux has no errors 41 and 58.
            guard !text.contains("Unknown error") else { continue }
            #expect(Redaction.redacted(text) == text)
        }
    }

    @Test func redactionDoesNotSplitCharacters() {
        #expect(Redaction.redacted("é token=日本🙂 é") == "é token=[redacted] é")
        #expect(Redaction.redacted("密token=x") == "密token=[redacted]")
    }

    @Test(arguments: [
        "token=", "\"token\":\"", "token: (", "a://u:x/", "Authorization: ", "bearer \"", "basic ", "]", "\\\"",
        "password ",
        "://", "://u:p", "token=]", "-", "cookie: [\"", "token%3D", "{\"", "'", "pwd=a ", "token=a&", "a://u@h ",
    ])
    func redactionTakesLinearTime(_ piece: String) {
        // Quadratic work would take minutes here.
        let text = String(repeating: piece, count: 200_000 / piece.utf8.count)
        #expect(Redaction.redacted(text).utf8.count <= text.utf8.count * 12)
        #expect(Redaction.detail(text).unicodeScalars.count <= 500)
    }

    @Test func aDetailIsBoundedAndHasNoPartialSecret() {
        #expect(Redaction.detail(String(repeating: "x", count: 10_000)).count == 500)
        let combining = "a" + String(repeating: "\u{301}", count: 100_000)
        #expect(Redaction.detail(combining).utf8.count <= 2_000)
        // The `@` that marks the text before it as a secret may lie beyond the read limit.
        let fill = "token=" + String(repeating: "y", count: Redaction.readLimit - 30)
        let detail = Redaction.detail(fill + " mqtt://anna:Canary7Q" + String(repeating: "z", count: 50) + "@broker")
        #expect(!detail.contains("Canary7Q"))
    }

    @Test func eachPrefixOfAnErrorIsRedacted() {
        let secret = "Canary7Q"
        let text = "refused by mqtt://anna:\(secret)@b with {\"token\":\"\(secret)\"} and Bearer \(secret)"
        for count in stride(from: 0, to: 600, by: 7) {
            #expect(!Redaction.detail(String(repeating: "-", count: count) + " " + text).contains(secret))
        }
    }
}

/// Secrets in the errors of plugins and adapters must not appear in any output of a supervisor.
@Suite struct CanaryTests {
    private struct Refused: Error, CustomStringConvertible {
        var description = """
            POST https://anna:Canary7Q@pay.example/v1?token=Canary7Q was refused
            Authorization: Bearer Canary7Q
            {"password":"Canary7Q","user":"anna"}
            """
    }

    @Test func pluginErrorsAreReportedWithoutSecrets() async throws {
        let lines = EventList<String>()
        let reported = EventList<Outcome>()
        let tracer = InMemoryTracer()
        let metrics = TestMetrics()
        var configuration = SupervisorConfiguration.patient
        configuration.onOutcome = { reported.append(contentsOf: [$0.outcome]) }
        let logger = Logger(label: "canary") { _ in RecordingLog(lines) }
        let supervisor = Supervisor(configuration: configuration, logger: logger)
        supervisor.use(TracingMiddleware(tracer: tracer))
        supervisor.observe(SupervisorMetrics(factory: metrics))
        try register(in: supervisor)
        let intake = try supervisor.intake(for: "push")
        let messages = ["throws", "throwsLater", "throwsFailure", "together", "refuses"].map {
            message($0, id: "token=Canary7Q", body: #"{"token":"Canary7Q"}"#)
        }
        let explained = arrivals(messages).map { "\(supervisor.explain($0))" }
        #expect(explained.contains { $0.contains("no such token=[redacted]") })
        var outcomes: [Outcome] = []
        try await supervisor.whileRunning { outcomes = await intake.deliver(arrivals(messages)) }
        #expect(outcomes.map(\.name) == ["failed", "failed", "failed", "failed", "rejected"])
        let output: [String] = [
            outcomes.map { "\($0)" }, reported.all.map { "\($0)" }, lines.all,
            supervisor.deadLetters.letters.map { "\($0.outcome)" }, explained,
            supervisor.deadLetters.letters.map { "\($0.explanation)" },
            tracer.finishedSpans.map { "\($0.operationName) \($0.attributes) \($0.status as Any) \($0.errors)" },
            metrics.counters.map { "\($0.label) \($0.dimensions)" },
        ].flatMap { $0 }
        #expect(output.filter { $0.contains("Canary") }.isEmpty)
        #expect(outcomes.filter { "\($0)".contains("pay.example/v1?token=[redacted] was refused") }.count == 4)
        // The message itself is stored unchanged, so that it can be replayed.
        #expect(Set(supervisor.deadLetters.letters.map { $0.original.text }) == Set(messages))
    }

    private func register(in supervisor: Supervisor) throws {
        let rule = AccessRule.source("push")
        try supervisor.register(Registration("throws", as: Empty.self, from: rule) { _, _ in throw Refused() })
        try supervisor.register(
            Registration("throwsLater", as: Empty.self, from: rule) { _, _ in
                await Task.yield()
                throw Refused()
            }
        )
        try supervisor.register(
            Registration("throwsFailure", as: Empty.self, from: rule) { _, _ in
                throw Outcome.Failure(.threw, detail: "\(Refused())", isRetryable: true)
            }
        )
        try supervisor.register(Registration(Together(), from: rule))
        try supervisor.register(Registration("refuses", as: Picky.self, from: rule) { _, _ in })
    }

    private struct Answering: Middleware {
        func handle(_ context: ActionContext, next: MiddlewareNext) async -> Outcome {
            .rejected(Outcome.Rejection(.unavailable, detail: "no token=Canary7Q"))
        }
    }

    @Test func explanationsRedactMiddlewareSecrets() async throws {
        let supervisor = Supervisor.make()
        supervisor.use(Answering())
        try supervisor.register(Registration("work", as: Empty.self, from: .source("push")) { _, _ in })
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning { _ = await intake.deliver(arrivals([message("work")])) }
        let explanation = try #require(supervisor.deadLetters.letters.first).explanation
        #expect(explanation.description.contains("no token=[redacted]"))
        #expect(!explanation.description.contains("Canary") && !"\(explanation.verdict)".contains("Canary"))
    }

    private struct Talkative: Decodable {
        init(from decoder: any Decoder) throws {
            let much = String(repeating: "x", count: 10_000)
            throw BodyError(.invalidValue, path: "body.\(much)", detail: "no \(much)")
        }
    }

    @Test func anErrorThrownByAnInfoIsBounded() async throws {
        let supervisor = Supervisor.make()
        try supervisor.register(Registration("work", as: Talkative.self, from: .source("push")) { _, _ in })
        let intake = try supervisor.intake(for: "push")
        var outcomes: [Outcome] = []
        try await supervisor.whileRunning { outcomes = await intake.deliver(arrivals([message("work")])) }
        guard case .rejected(let rejection)? = outcomes.first else {
            Issue.record("the message was not rejected")
            return
        }
        #expect(rejection.reason == .invalidBody && rejection.detail.utf8.count < 1_100)
        #expect(rejection.bodyError?.detail.unicodeScalars.count == 500)
    }

    @Test func adapterErrorsAreReportedWithoutSecrets() async throws {
        let lines = EventList<String>()
        let supervisor = Supervisor(
            configuration: .patient,
            logger: Logger(label: "canary") { _ in RecordingLog(lines) }
        )
        try supervisor.add(FailingAdapter())
        await #expect(throws: Refused.self) { try await supervisor.run() }
        let line = try #require(lines.all.first { $0.contains("source ended with an error") })
        #expect(line.contains("https://[redacted]@pay.example"))
        #expect(!lines.all.joined().contains("Canary"))
    }

    private struct Together: BatchPlugin {
        let action: ActionName = "together"
        func callAsActions(_ batch: [(info: Empty, context: ActionContext)]) async throws { throw Refused() }
    }

    private struct Picky: Decodable {
        init(from decoder: any Decoder) throws {
            throw BodyError(.invalidValue, path: "body", detail: "no such token=Canary7Q")
        }
    }

    private struct FailingAdapter: Adapter {
        let source: SourceName = "push"
        let features: AdapterFeatures = []
        func run(into intake: any Intake) async throws { throw Refused() }
    }
}
