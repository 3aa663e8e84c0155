import Signalbox
import SignalboxCore
import SignalboxTesting
import Synchronization
import TestSupport
import Testing

/// Explanations report what stages remember of earlier arrivals, and agree with the outcomes that follow.
@Suite(.timeLimit(.minutes(10))) struct ExplainStateTests {
    private struct Broken: Error {}

    private static func explain(_ text: String, by supervisor: Supervisor) throws -> (
        code: String, stops: ExplanationStep?
    ) {
        let explanation = supervisor.explain(try #require(arrivals([text]).first))
        return (explanation.verdict.code, explanation.steps.first { !$0.passes })
    }

    @Test func statefulStagesReportTheirState() async throws {
        let supervisor = Supervisor.make(clock: ManualClock())
        let options = PluginOptions<Empty>(circuitBreaker: CircuitBreakerPolicy(failures: 1, openFor: .seconds(30)))
        try supervisor.register(Registration("works", as: RawBody.self, from: .source("push")) { _, _ in })
        try supervisor.register(
            Registration("fails", as: Empty.self, from: .source("push"), options: options) { _, _ in
                throw Broken()
            }
        )
        let intake = try supervisor.intake(
            for: "push",
            rateLimit: RateLimit(perSecond: 1, burst: 4),
            deduplication: .within(DeduplicationLimits())
        )
        func deliver(_ text: String) async -> String { await intake.deliver(arrivals([text])).first?.code ?? "" }
        try await supervisor.whileRunning {
            let first = message("works", id: "1")
            #expect(try Self.explain(first, by: supervisor).code == "called")
            #expect(await deliver(first) == "handled")
            let again = try Self.explain(first, by: supervisor)
            #expect(again.code == "duplicate" && again.stops?.stage == .deduplication)
            let other = try Self.explain(message("works", id: "1", body: "[]"), by: supervisor)
            #expect(other.code == "idConflict" && other.stops?.stage == .deduplication)

            #expect(try Self.explain(message("fails"), by: supervisor).code == "called")
            #expect(await deliver(message("fails")) == "threw")
            let open = try Self.explain(message("fails"), by: supervisor)
            #expect(open.code == "unavailable" && open.stops?.stage == .circuitBreaker)
            #expect(
                open.stops?.detail.hasPrefix("opens after 1 failures in a row for 30.0 seconds; open; the circuit")
                    == true
            )
            #expect(await deliver(message("fails", id: "2")) == "unavailable")

            #expect(await deliver(message("works", id: "3")) == "handled")
            let over = try Self.explain(message("works", id: "4"), by: supervisor)
            #expect(over.code == "overloaded" && over.stops?.stage == .rateLimit)
            #expect(over.stops?.detail.hasPrefix("1 per second, bursts of 4; the source exceeds") == true)
            #expect(await deliver(message("works", id: "4")) == "overloaded")
            #expect(await deliver(message("works", id: "1", body: "[]")) == "idConflict")
        }
        let stages = supervisor.deadLetters.letters.map { $0.explanation.steps.last?.stage }
        #expect(stages == [.attempts, .circuitBreaker, .rateLimit, .deduplication])
    }

    @Test func aMessageIsHeldUntilAsManyWaitAsMay() async throws {
        let supervisor = Supervisor.make(clock: ManualClock())
        let intake = try supervisor.intake(for: "push", hold: HoldLimits(time: .seconds(9), messages: 1))
        let sink = RecordingSink()
        try await supervisor.whileRunning {
            let held = try Self.explain(message("late"), by: supervisor)
            #expect(held.code == "held" && held.stops?.stage == .plugin)
            #expect(held.stops?.detail.contains("held for at most 9.0 seconds") == true)
            #expect(intake.submit(arrivals([message("late")]), to: sink) == 1)
            #expect(supervisor.report.total.settled == 0)
            let full = try Self.explain(message("late"), by: supervisor)
            #expect(full.code == "unknownAction" && full.stops?.stage == .plugin)
            #expect(full.stops?.detail.hasSuffix("not held: at most 1 message and 8388608 bytes are held") == true)
            #expect(intake.submit(arrivals([message("late")]), to: sink) == 1)
            #expect(supervisor.report.total.rejected == 1)
        }
    }

    @Test func aStalledLaneAndARunningDuplicateAreReported() async throws {
        let clock = ManualClock()
        let supervisor = Supervisor.make(clock: clock)
        let (began, gate) = (AsyncStream.makeStream(of: Void.self), AsyncStream.makeStream(of: Void.self))
        let options = PluginOptions<Empty>(timeout: .seconds(1))
        try supervisor.register(
            Registration("slow", as: Empty.self, from: .source("push"), options: options) { _, _ in
                began.continuation.yield()
                for await _ in gate.stream { return }
            }
        )
        let intake = try supervisor.intake(for: "push", deduplication: .within(DeduplicationLimits()))
        try await supervisor.whileRunning {
            async let outcomes = intake.deliver(arrivals([message("slow", id: "1")]))
            for await _ in began.stream { break }
            let running = try Self.explain(message("slow", id: "1"), by: supervisor)
            #expect(running.code == "duplicate" && running.stops?.detail.contains("is running") == true)
            #expect(try Self.explain(message("slow", id: "2"), by: supervisor).code == "called")
            await clock.tick(30)
            #expect(await outcomes.map(\.code) == ["timeout"])
            let stalled = try Self.explain(message("slow", id: "2"), by: supervisor)
            #expect(stalled.code == "unavailable" && stalled.stops?.stage == .lane)
            #expect(await intake.deliver(arrivals([message("slow", id: "2")])).map(\.code) == ["unavailable"])
            gate.continuation.yield()
        }
        #expect(supervisor.deadLetters.letters.map { $0.explanation.steps.last?.stage } == [.timeout, .lane])
    }

    @Test func aClosedSourceHasTheVerdictClosed() async throws {
        let supervisor = Supervisor.make()
        let gate = Gate()
        try supervisor.register(
            Registration("work", as: Empty.self, from: .any([.source("push"), .source("chat")])) { _, _ in
                await gate.pass()
            }
        )
        let (push, sink) = (try supervisor.intake(for: "push", window: WindowLimits(arrivals: 1)), RecordingSink())
        _ = try supervisor.intake(for: "chat")
        func explain(_ source: SourceName) throws -> Explanation {
            supervisor.explain(try #require(arrivals(from: source, [message("work")]).first))
        }
        #expect(try explain("push").verdict.isCalled, "the arrival waits until the supervisor opens")
        try await supervisor.whileRunning {
            #expect(push.submit(arrivals([message("work")]), to: sink) == 1)
            await gate.untilArrived(1)
            async let isRemoved = supervisor.remove(source: "push")
            await #expect(throws: SourceClosed.self) { try await push.room() }
            let removing = try explain("push")
            #expect(removing.verdict.code == "closed" && !removing.verdict.isCalled)
            #expect(removing.steps.first?.stage == .intake && removing.steps.count == 13)
            #expect(try explain("chat").verdict.isCalled)
            gate.open()
            #expect(await isRemoved)
        }
        for source: SourceName in ["push", "chat"] {
            let stopped = try explain(source)
            #expect(stopped.verdict.code == "closed")
            #expect(stopped.steps.filter { !$0.passes }.map(\.stage) == [.intake])
        }
    }

    @Test func aThrottledSourceIsExplainedAsWaiting() async throws {
        let supervisor = Supervisor.make(clock: ManualClock())
        try supervisor.register(Registration("works", as: RawBody.self, from: .source("push")) { _, _ in })
        let limit = RateLimit(perSecond: 1, burst: 1)
        let intake = try supervisor.intake(for: "push", features: .redelivers, rateLimit: limit)
        try await supervisor.whileRunning {
            #expect(await intake.deliver(arrivals([message("works")])).map(\.code) == ["handled"])
            let explanation = supervisor.explain(try #require(arrivals([message("works")]).first))
            #expect(explanation.verdict.isCalled)
            let step = explanation.steps.first { $0.stage == .rateLimit }
            #expect(step?.detail == "1 per second, bursts of 1; the source must wait now")
        }
    }
}

/// Explanations of outcomes that end an attempt, and of outcomes that the supervisor decides after one.
@Suite(.timeLimit(.minutes(10))) struct ExplainedAttemptTests {
    private struct Answering: Middleware {
        let outcome: Outcome
        func handle(_ context: ActionContext, next: MiddlewareNext) async -> Outcome { outcome }
    }

    private struct Refused: RetryableError {}

    private static let reasons: [Outcome.Rejection.Reason] = [
        .overloaded, .unavailable, .expired, .idConflict, .reentrant, .sourceNotAllowed, .unknownAction, .malformed,
    ]

    @Test(arguments: reasons)
    func aMiddlewareOutcomeIsNotAttributedToAnEarlierStage(_ reason: Outcome.Rejection.Reason) async throws {
        let reported = EventList<Explanation>()
        let supervisor = Supervisor.make { configuration in
            configuration.onOutcome = { if let explanation = $0.explanation { reported.append(explanation) } }
        }
        supervisor.use(Answering(outcome: .rejected(Outcome.Rejection(reason, detail: "not today"))))
        try supervisor.register(Registration("work", as: Empty.self, from: .source("push")) { _, _ in })
        let intake = try supervisor.intake(for: "push", rateLimit: RateLimit(perSecond: 1_000))
        try await supervisor.whileRunning { _ = await intake.deliver(arrivals([message("work")])) }
        let letter = try #require(supervisor.deadLetters.letters.first)
        #expect(letter.attempts == 1)
        #expect(letter.explanation.steps.map(\.stage) == [.envelope, .plugin, .access, .attempts, .middleware])
        #expect(letter.explanation.steps.last?.detail == "not today")
        #expect(reported.all == [letter.explanation])
    }

    @Test func aDeclineIsExplainedAtTheAttemptsStage() async throws {
        let supervisor = Supervisor.make()
        try supervisor.register(
            Registration("work", as: Empty.self, from: .source("push")) { _, _ in
                throw PluginDeclined("not mine")
            }
        )
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning { _ = await intake.deliver(arrivals([message("work")])) }
        let letter = try #require(supervisor.deadLetters.letters.first)
        #expect(letter.outcome.code == "invalidBody")
        #expect(letter.explanation.steps.last?.stage == .attempts)
        #expect(letter.explanation.steps.last?.detail == "1 of at most 1; the last was rejected: declined: not mine")
    }

    /// With an order by key, the lane decodes the body before an attempt. In any other order, the attempt does.
    @Test(
        arguments: [
            (LaneOrder<Int>.source, 1, [.envelope, .plugin, .access, .attempts, .body]),
            (.none, 1, [.envelope, .plugin, .access, .attempts, .body]),
            (.key { $0 }, 0, [.envelope, .plugin, .access, .body]),
        ] as [(LaneOrder<Int>, Int, [ExplanationStage])]
    )
    func anInvalidBodyCountsOnlyStartedAttempts(
        _ order: LaneOrder<Int>,
        attempts: Int,
        stages: [ExplanationStage]
    ) async throws {
        let reported = EventList<Int>()
        let supervisor = Supervisor.make { $0.onOutcome = { reported.append($0.attempts) } }
        let passed = Atomic(0)
        supervisor.use(Counting(calls: { passed.wrappingAdd(1, ordering: .relaxed) }))
        let options = PluginOptions<Int>(order: order)
        try supervisor.register(Registration("work", as: Int.self, from: .source("push"), options: options) { _, _ in })
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning { _ = await intake.deliver(arrivals([message("work", body: "[]")])) }
        let letter = try #require(supervisor.deadLetters.letters.first)
        #expect(letter.attempts == attempts)
        #expect(reported.all == [attempts])
        #expect(passed.load(ordering: .relaxed) == attempts)
        #expect(letter.explanation.steps.map(\.stage) == stages)
    }

    private struct Counting: Middleware {
        let calls: @Sendable () -> Void

        func handle(_ context: ActionContext, next: MiddlewareNext) async -> Outcome {
            calls()
            return await next(context)
        }
    }

    /// The first attempt lasts until the deadline has passed, so no second attempt can begin. If the deadline passes
    /// before the first attempt on a slow machine, the test retries with a later one.
    @Test func anExpiredRetryHasTheOutcomeOfTheLastAttempt() async throws {
        for milliseconds in [50, 500, 5_000, 50_000] {
            let clock = ManualClock()
            let supervisor = Supervisor.make(clock: clock) { $0.timeout = .seconds(1_000_000) }
            let options = PluginOptions<Empty>(retry: RetryPolicy(attempts: 2))
            try supervisor.register(
                Registration("work", as: Empty.self, from: .source("push"), options: options) { _, context in
                    while context.deadline.map({ ContinuousClock.now < $0 }) ?? false { await Task.yield() }
                    throw Refused()
                }
            )
            let intake = try supervisor.intake(for: "push")
            try await supervisor.whileRunning {
                let batch = arrivals(deadline: .now + .milliseconds(milliseconds), [message("work")])
                _ = await clock.tick { await intake.deliver(batch) }
            }
            let letter = try #require(supervisor.deadLetters.letters.first)
            guard letter.attempts > 0 else {
                #expect(letter.outcome.code == "expired" && letter.explanation.steps.last?.stage == .deadline)
                continue
            }
            #expect(letter.outcome.code == "threw" && letter.attempts == 1)
            #expect(letter.explanation.steps.last?.stage == .attempts)
            return
        }
        Issue.record("the plugin was never called before its deadline")
    }
}
