import Logging
import Signalbox
import SignalboxCore
import SignalboxTesting
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(10))) struct ExplainTests {
    struct Tracing: Middleware {
        func handle(_ context: ActionContext, next: MiddlewareNext) async -> Outcome { await next(context) }
    }

    struct Audit: Middleware {
        func handle(_ context: ActionContext, next: MiddlewareNext) async -> Outcome { await next(context) }
    }

    private static func arrival(_ text: String, deadline: ContinuousClock.Instant? = nil) throws -> Arrival {
        try #require(arrivals(deadline: deadline, [text]).first)
    }

    private static func step(_ explanation: Explanation, _ stage: ExplanationStage) -> ExplanationStep? {
        explanation.steps.first { $0.stage == stage }
    }

    private static let loading = message("loading", id: "7", body: #"{"isShow":true}"#)

    /// With an order by key, the body is decoded before the lane, as for a submitted arrival.
    @Test(arguments: [false, true]) func everyStageReportsItsResult(isByKey: Bool) throws {
        let supervisor = Supervisor.make { $0.timeout = .seconds(2) }
        supervisor.use(Tracing())
        let options = PluginOptions<Loading>(
            order: isByKey ? .key(\.isShow) : .source,
            maxConcurrent: 4,
            retry: RetryPolicy(attempts: 5, firstDelay: .seconds(1), longestDelay: .seconds(9)),
            middleware: [Audit()]
        )
        try supervisor.register(
            Registration("loading", as: Loading.self, from: .source("push"), options: options) { _, _ in }
        )
        _ = try supervisor.intake(for: "push")
        let explanation = supervisor.explain(try Self.arrival(Self.loading))
        #expect(explanation.source == "push" && explanation.action == "loading" && explanation.id?.text == "7")
        #expect(explanation.envelope == .standard)
        #expect(explanation.verdict.isCalled && explanation.verdict.code == "called")
        #expect(!explanation.steps.contains { !$0.passes })
        let lines = [
            "loading 7 of push: called",
            "  envelope        passes  standard",
            "  plugin          passes  served by a closure for Loading",
            "  access          passes  allowed by source push",
            "  deduplication   passes  off for this source",
            "  deadline        passes  none",
            "  rateLimit       passes  none",
            "  circuitBreaker  passes  none",
            "  lane            passes  at most 4 at once, in order per \(isByKey ? "key" : "source")",
            "  attempts        passes  at most 5, with a delay of at most 1.0 seconds before the second, doubling up to 9.0 seconds",
            "  timeout         passes  2.0 seconds",
            "  middleware      passes  Tracing, Audit",
        ]
        let body = "  body            passes  decodes"
        let expected = isByKey ? lines.prefix(8) + [body] + lines.dropFirst(8) : lines + [body]
        #expect(explanation.description == expected.joined(separator: "\n"))
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let text: String
        let code: String
        /// The first stage that does not pass, or `nil` if all pass.
        let stops: ExplanationStage?
        let detail: String
        var isLate = false

        var testDescription: String { text }
    }

    private static let rows = [
        Row(text: loading, code: "called", stops: nil, detail: ""),
        Row(text: "not json", code: "malformed", stops: .envelope, detail: "invalidSyntax at byte 0"),
        Row(text: "{}", code: "malformed", stops: .envelope, detail: "missingMember at action"),
        Row(
            text: message("nobody"),
            code: "unknownAction",
            stops: .plugin,
            detail: "no plugin is registered for this action"
        ),
        Row(
            text: message("closed"),
            code: "sourceNotAllowed",
            stops: .access,
            detail: "any of (source chat; source page)"
        ),
        Row(text: loading, code: "expired", stops: .deadline, detail: "the deadline has passed", isLate: true),
        Row(text: message("loading", body: #"{"isShow":1}"#), code: "invalidBody", stops: .body, detail: "body.isShow"),
        Row(text: message("loading"), code: "invalidBody", stops: .body, detail: "missingMember at body.isShow"),
    ]

    @Test(arguments: rows) func theFirstStageThatStopsAnArrivalDecides(_ row: Row) throws {
        let supervisor = Supervisor.make()
        try supervisor.register(Registration("loading", as: Loading.self, from: .source("push")) { _, _ in })
        try supervisor.register(
            Registration("closed", as: Empty.self, from: .any([.source("chat"), .source("page")])) { _, _ in }
        )
        let deadline = row.isLate ? ContinuousClock.now - .seconds(1) : .now + .seconds(600)
        let explanation = supervisor.explain(try Self.arrival(row.text, deadline: deadline))
        #expect(explanation.verdict.code == row.code)
        #expect(explanation.verdict.isCalled == (row.stops == nil))
        let stopping = explanation.steps.first { !$0.passes }
        #expect(stopping?.stage == row.stops)
        #expect(stopping?.detail.contains(row.detail) != false)
        #expect(explanation.verdict.detail.contains(row.detail))
    }

    @Test func stagesAfterARefusalAreExplained() throws {
        let supervisor = Supervisor.make()
        let rule = AccessRule.all([.not(.source("chat")), .source("page")])
        try supervisor.register(Registration("loading", as: Loading.self, from: rule) { _, _ in })
        let explanation = supervisor.explain(try Self.arrival(message("loading", body: "[]")))
        #expect(explanation.verdict.code == "sourceNotAllowed")
        let access =
            "not allowed: the message comes from push, but 'from' requires source page; "
            + "the rule is all of (not (source chat); source page)"
        #expect(Self.step(explanation, .access)?.detail == access)
        #expect(Self.step(explanation, .body)?.passes == false)
    }

    @Test func aRuleThatExcludesTheSourceIsNamed() throws {
        let supervisor = Supervisor.make()
        let rule = AccessRule.not(.source("push"))
        try supervisor.register(Registration("loading", as: Loading.self, from: rule) { _, _ in })
        let explanation = supervisor.explain(try Self.arrival(message("loading", body: "[]")))
        let access = "not allowed: the message comes from push, but 'from' excludes source push"
        #expect(Self.step(explanation, .access)?.detail == access)
    }

    /// An `Info` that counts how often it is decoded.
    private struct Spied: Decodable, Sendable {
        static let made = Atomic(0)
        init(from decoder: any Decoder) { Spied.made.wrappingAdd(1, ordering: .relaxed) }
    }

    @Test func explainingRunsNothingAndChangesNothing() async throws {
        let settled = Atomic(0)
        let supervisor = Supervisor.make { $0.onOutcome = { _ in settled.wrappingAdd(1, ordering: .relaxed) } }
        let calls = Atomic(0)
        supervisor.use(SpyMiddleware(calls: { calls.wrappingAdd(1, ordering: .relaxed) }))
        let options = PluginOptions<Spied>(
            order: .key { _ in calls.wrappingAdd(1, ordering: .relaxed).newValue },
            retry: RetryPolicy(),
            circuitBreaker: CircuitBreakerPolicy(failures: 1)
        )
        try supervisor.register(
            Registration("spied", as: Spied.self, from: .source("push"), options: options) { _, _ in
                calls.wrappingAdd(1, ordering: .relaxed)
            }
        )
        let limit = RateLimit(perSecond: 1, burst: 1)
        let deduplication = DeduplicationPolicy.within(DeduplicationLimits())
        let intake = try supervisor.intake(for: "push", rateLimit: limit, deduplication: deduplication)
        let texts = [message("spied", id: "1"), "not json", message("nobody"), message("spied", id: "1", body: "2")]
        try await supervisor.whileRunning {
            let before = supervisor.report
            let explained = arrivals(texts)
            let first = explained.map { supervisor.explain($0) }
            for _ in 0..<100 { #expect(explained.map { supervisor.explain($0) } == first) }
            #expect(supervisor.report == before)
            #expect(calls.load(ordering: .relaxed) == 0 && settled.load(ordering: .relaxed) == 0)
            #expect(Spied.made.load(ordering: .relaxed) == 202)
            // The rate limit's only token and the id are still free.
            let outcome = await intake.deliver(arrivals([texts[0]])).first
            #expect(outcome == .handled(reply: nil))
        }
    }

    private struct SpyMiddleware: Middleware {
        let calls: @Sendable () -> Void

        func handle(_ context: ActionContext, next: MiddlewareNext) async -> Outcome {
            calls()
            return await next(context)
        }
    }

    @Test func hostileTextDoesNotBreakExplanationLines() throws {
        let supervisor = Supervisor.make()
        let rule = AccessRule("line\nbreak \u{1B}[2J") { _ in true }
        try supervisor.register(Registration("loading", as: Loading.self, from: rule) { _, _ in })
        let text = #"{"action":"loading","id":"a\nb\u001b[2J\u2028","body":{"x\ny":1}}"#
        let explanation = supervisor.explain(try Self.arrival(text))
        let lines = explanation.description.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.count == explanation.steps.count + 1)
        #expect(!explanation.description.unicodeScalars.contains { $0 == "\u{1B}" || $0 == "\u{2028}" })
    }

    @Test func anExplanationEncodesAsJSON() throws {
        let explanation = Supervisor.make().explain(try Self.arrival(Self.loading))
        let expected = #"""
            {"action":"loading","envelope":"standard","id":"7","source":"push","steps":[{"detail":"standard","passes":true,"stage":"envelope"},{"detail":"no plugin is registered for this action","passes":false,"stage":"plugin"}],"verdict":{"code":"unknownAction","detail":"no plugin is registered for this action"}}
            """#
        #expect(try BodyWriter.write(explanation).text == expected)
    }

    private struct Payment: Decodable, Sendable { let amount: Int }

    private struct PaymentBatchPlugin: BatchPlugin {
        let action: ActionName = "pay"
        func callAsActions(_ batch: [(info: Payment, context: ActionContext)]) async {}
    }

    @Test(arguments: [
        (Envelope.apns, #"{"aps":{},"action":"pay","amount":"1"}"#),
        (.cloudEvents, #"{"specversion":"1.0","id":"1","source":"/x","type":"pay","data":{"amount":"1"}}"#),
        (.handler("pay"), #"{"amount":"1"}"#), (.standard, #"{"action":"pay","body":{"amount":"1"}}"#),
        (.route(RouteNaming(action: "pay", captures: [RouteNaming.Capture(name: "amount", value: "one")])), "{}"),
    ])
    func aBodyErrorHasItsPathInEveryEnvelope(_ envelope: Envelope, _ text: String) throws {
        var batch = ArrivalBatch(pool: ArrivalPool())
        let origin = Origin(source: "push", facts: TestFacts(label: ""))
        Array(text.utf8).withUnsafeBytes {
            batch.append($0, token: 0, origin: origin, receivedAt: WallTime(seconds: 0), envelope: envelope)
        }
        let arrival = try #require(batch.take().first)
        let supervisor = Supervisor.make()
        try supervisor.register(Registration(PaymentBatchPlugin(), from: .source("push")))
        let explanation = supervisor.explain(arrival)
        #expect(explanation.verdict.code == "invalidBody")
        let body = try #require(Self.step(explanation, .body))
        #expect(!body.passes)
        #expect(body.detail.contains("at body.amount"), "\(body.detail)")
    }

    @Test func syncAsyncAndBatchPluginsAreExplained() throws {
        struct Sync: SyncPlugin {
            let action: ActionName = "sync"
            func callAsAction(_ info: Loading, context: ActionContext) {}
        }
        struct Async: Plugin {
            let action: ActionName = "async"
            func callAsAction(_ info: Loading, context: ActionContext) async -> Int { 1 }
        }
        struct Together: BatchPlugin {
            let action: ActionName = "together"
            func callAsActions(_ batch: [(info: Loading, context: ActionContext)]) async {}
        }
        let supervisor = Supervisor.make()
        supervisor.use(Tracing())
        try supervisor.register(Registration(Sync(), from: .source("push")))
        try supervisor.register(Registration(Async(), from: .source("push")))
        try supervisor.register(Registration(Together(), from: .source("push")))
        for (action, holder, middleware) in [
            ("sync", "Sync", "Tracing"), ("async", "Async", "Tracing"),
            ("together", "Together", "none, because one call handles many actions"),
        ] {
            let bad = supervisor.explain(try Self.arrival(message(action, body: "7")))
            #expect(bad.verdict.code == "invalidBody")
            #expect(Self.step(bad, .plugin)?.detail == "served by \(holder)")
            #expect(Self.step(bad, .middleware)?.detail == middleware)
            let good = supervisor.explain(try Self.arrival(message(action, body: #"{"isShow":false}"#)))
            #expect(good.verdict.isCalled)
        }
    }
}
