import InMemoryTracing
import Logging
import MetricsTestKit
import SignalboxCore
import SignalboxTesting
import Testing
import Tracing

@testable import Signalbox

/// Secrets in the errors that plugins and adapters throw, looked for in all that a supervisor says.
@Suite struct CanaryTests {
    private struct Refused: Error, CustomStringConvertible {
        var description = """
            POST https://anna:Canary7Q@pay.example/v1?token=Canary7Q was refused
            Authorization: Bearer Canary7Q
            {"password":"Canary7Q","user":"anna"}
            """
    }

    @Test func anErrorOfAPluginIsSaidWithoutItsSecretsEverywhere() async throws {
        let lines = EventList<String>()
        let told = EventList<Outcome>()
        let tracer = InMemoryTracer()
        let metrics = TestMetrics()
        var configuration = SupervisorConfiguration.patient
        configuration.onOutcome = { told.append(contentsOf: [$0.outcome]) }
        let logger = Logger(label: "canary") { _ in RecordingLog(lines) }
        let supervisor = Supervisor(configuration: configuration, logger: logger)
        supervisor.use(TracingMiddleware(tracer: tracer))
        supervisor.use(MetricsMiddleware(factory: metrics))
        try register(in: supervisor)
        let intake = try supervisor.intake(for: "push")
        let messages = ["throws", "throwsLater", "throwsFailure", "together", "refuses"].map {
            message($0, id: "token=Canary7Q", body: #"{"token":"Canary7Q"}"#)
        }
        let asked = arrivals(messages).map { "\(supervisor.explain($0))" }
        #expect(asked.contains { $0.contains("no such token=[redacted]") })
        var outcomes: [Outcome] = []
        try await supervisor.whileRunning { outcomes = await intake.deliver(arrivals(messages)) }
        #expect(outcomes.map(\.name) == ["failed", "failed", "failed", "failed", "rejected"])
        let said: [String] = [
            outcomes.map { "\($0)" }, told.all.map { "\($0)" }, lines.all,
            supervisor.deadLetters.letters.map { "\($0.outcome)" }, asked,
            supervisor.deadLetters.letters.map { "\($0.explanation)" },
            tracer.finishedSpans.map { "\($0.operationName) \($0.attributes) \($0.status as Any) \($0.errors)" },
            metrics.counters.map { "\($0.label) \($0.dimensions)" },
        ].flatMap { $0 }
        #expect(said.filter { $0.contains("Canary") }.isEmpty)
        #expect(outcomes.filter { "\($0)".contains("pay.example/v1?token=[redacted] was refused") }.count == 4)
        // The message itself is kept as it came, for whoever replays it.
        #expect(Set(supervisor.deadLetters.letters.map { $0.original.text }) == Set(messages))
    }

    private func register(in supervisor: Supervisor) throws {
        let rule = AccessRule.source("push")
        try supervisor.register("throws", as: Empty.self, from: rule) { _, _ in throw Refused() }
        try supervisor.register("throwsLater", as: Empty.self, from: rule) { _, _ in
            await Task.yield()
            throw Refused()
        }
        try supervisor.register("throwsFailure", as: Empty.self, from: rule) { _, _ in
            throw Outcome.Failure(.threw, detail: "\(Refused())", isRetryable: true)
        }
        try supervisor.register(Together(), from: rule)
        try supervisor.register("refuses", as: Picky.self, from: rule) { _, _ in }
    }

    private struct Answering: Middleware {
        func handle(_ context: ActionContext, next: MiddlewareNext) async -> Outcome {
            .rejected(Outcome.Rejection(.unavailable, detail: "no token=Canary7Q"))
        }
    }

    @Test func anExplanationIsPrintedWithoutTheSecretsOfMiddleware() async throws {
        let supervisor = Supervisor.make()
        supervisor.use(Answering())
        try supervisor.register("work", as: Empty.self, from: .source("push")) { _, _ in }
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

    @Test func whatAnInfoThrowsIsBounded() async throws {
        let supervisor = Supervisor.make()
        try supervisor.register("work", as: Talkative.self, from: .source("push")) { _, _ in }
        let intake = try supervisor.intake(for: "push")
        var outcomes: [Outcome] = []
        try await supervisor.whileRunning { outcomes = await intake.deliver(arrivals([message("work")])) }
        guard case .rejected(let rejection)? = outcomes.first else {
            Issue.record("it was not rejected")
            return
        }
        #expect(rejection.reason == .invalidBody && rejection.detail.utf8.count < 1_100)
        #expect(rejection.bodyError?.detail.unicodeScalars.count == 500)
    }

    @Test func anErrorOfAnAdapterIsSaidWithoutItsSecrets() async throws {
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
