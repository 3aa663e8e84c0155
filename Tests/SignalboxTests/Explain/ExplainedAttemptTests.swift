import Signalbox
import SignalboxCore
import SignalboxTesting
import Synchronization
import Testing

/// What explanations say of outcomes that an attempt ended in, and of those that the supervisor decided behind one.
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
    func whatMiddlewareSaysIsNotTakenForAnEarlierStage(_ reason: Outcome.Rejection.Reason) async throws {
        let told = EventList<Explanation>()
        let supervisor = Supervisor.make { configuration in
            configuration.onOutcome = { if let explanation = $0.explanation { told.append(explanation) } }
        }
        supervisor.use(Answering(outcome: .rejected(Outcome.Rejection(reason, detail: "not today"))))
        try supervisor.register("work", as: Empty.self, from: .source("push")) { _, _ in }
        let intake = try supervisor.intake(for: "push", rateLimit: RateLimit(perSecond: 1_000))
        try await supervisor.whileRunning { _ = await intake.deliver(arrivals([message("work")])) }
        let letter = try #require(supervisor.deadLetters.letters.first)
        #expect(letter.attempts == 1)
        #expect(letter.explanation.steps.map(\.stage) == [.envelope, .plugin, .access, .attempts, .middleware])
        #expect(letter.explanation.steps.last?.detail == "not today")
        #expect(told.all == [letter.explanation])
    }

    @Test func aPluginThatDeclinesHasDecodedTheBody() async throws {
        let supervisor = Supervisor.make()
        try supervisor.register("work", as: Empty.self, from: .source("push")) { _, _ in
            throw PluginDeclined("not mine")
        }
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning { _ = await intake.deliver(arrivals([message("work")])) }
        let letter = try #require(supervisor.deadLetters.letters.first)
        #expect(letter.outcome.code == "invalidBody")
        #expect(letter.explanation.steps.last?.stage == .attempts)
        #expect(letter.explanation.steps.last?.detail == "1 of at most 1; the last was rejected: declined: not mine")
    }

    /// An attempt begins behind the decoding where the lane has to know the key, and before it in any other order.
    @Test(
        arguments: [
            (LaneOrder<Int>.source, 1, [.envelope, .plugin, .access, .attempts, .body]),
            (.none, 1, [.envelope, .plugin, .access, .attempts, .body]),
            (.key { $0 }, 0, [.envelope, .plugin, .access, .body]),
        ] as [(LaneOrder<Int>, Int, [ExplanationStage])]
    )
    func anInvalidBodyHasTheAttemptsThatWereBegun(
        _ order: LaneOrder<Int>,
        attempts: Int,
        stages: [ExplanationStage]
    ) async throws {
        let told = EventList<Int>()
        let supervisor = Supervisor.make { $0.onOutcome = { told.append($0.attempts) } }
        let passed = Atomic(0)
        supervisor.use(Counting(calls: { passed.wrappingAdd(1, ordering: .relaxed) }))
        let options = PluginOptions<Int>(order: order)
        try supervisor.register("work", as: Int.self, from: .source("push"), options: options) { _, _ in }
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning { _ = await intake.deliver(arrivals([message("work", body: "[]")])) }
        let letter = try #require(supervisor.deadLetters.letters.first)
        #expect(letter.attempts == attempts)
        #expect(told.all == [attempts])
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

    /// The first attempt goes on until the deadline has passed, so that there can be no second. On a machine that takes longer
    /// than the deadline for the way there, a later deadline is tried.
    @Test func anActionThatIsTooLateForItsNextAttemptEndsAsItsLastDid() async throws {
        for milliseconds in [50, 500, 5_000, 50_000] {
            let clock = ManualClock()
            let supervisor = Supervisor.make(clock: clock) { $0.timeout = .seconds(1_000_000) }
            let options = PluginOptions<Empty>(retry: RetryPolicy(attempts: 2))
            try supervisor.register("work", as: Empty.self, from: .source("push"), options: options) { _, context in
                while context.deadline.map({ ContinuousClock.now < $0 }) ?? false { await Task.yield() }
                throw Refused()
            }
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
        Issue.record("the plugin was never called in time")
    }
}
