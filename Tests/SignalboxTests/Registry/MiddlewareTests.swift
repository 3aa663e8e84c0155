import Signalbox
import SignalboxCore
import SignalboxTesting
import TestSupport
import Testing

/// Middleware around the calls of plugins, and its order.
@Suite struct MiddlewareTests {
    struct Noting: Middleware {
        let name: String
        let seen: EventList<String>
        func handle(_ context: ActionContext, next: MiddlewareNext) async -> Outcome {
            seen.append("\(name) in \(context.attempt)")
            let outcome = await next(context)
            seen.append("\(name) out \(outcome.name)")
            return outcome
        }
    }

    struct Answering: Middleware {
        let outcome: Outcome
        func handle(_ context: ActionContext, next: MiddlewareNext) async -> Outcome { outcome }
    }

    struct Watching: Middleware, OutcomeObserver {
        let seen: EventList<String>
        func handle(_ context: ActionContext, next: MiddlewareNext) async -> Outcome { await next(context) }
        func settled(_ arrival: SettledArrival) {
            seen.append("\(arrival.plugin?.text ?? "-") \(arrival.outcome.code)")
        }
    }

    struct Refused: RetryableError {}

    @Test func globalMiddlewareWrapsPluginMiddlewareInOrderOfUse() async throws {
        let supervisor = Supervisor.make()
        let seen = EventList<String>()
        supervisor.use(Noting(name: "first", seen: seen))
        let options = PluginOptions<Empty>(middleware: [Noting(name: "own", seen: seen)])
        try supervisor.register(
            Registration("work", as: Empty.self, from: .source("push"), options: options) { _, _ in
                seen.append("plugin")
            }
        )
        try supervisor.register(
            Registration("other", as: Empty.self, from: .source("push")) { _, _ in seen.append("other") }
        )
        supervisor.use(Noting(name: "second", seen: seen))
        try supervisor.use(Noting(name: "last", seen: seen), for: "work")
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning {
            _ = await intake.deliver(arrivals([message("work")]))
            let names = ["first", "second", "own", "last"]
            #expect(
                seen.all == names.map { "\($0) in 1" } + ["plugin"] + names.reversed().map { "\($0) out handled" }
            )
            _ = await intake.deliver(arrivals([message("other")]))
            #expect(
                seen.all.suffix(5) == ["first in 1", "second in 1", "other", "second out handled", "first out handled"]
            )
        }
    }

    @Test func middlewareMayReplyInsteadOfThePlugin() async throws {
        let supervisor = Supervisor.make()
        let called = EventList<Int>()
        let refusal = Outcome.rejected(Outcome.Rejection(.sourceNotAllowed, detail: "not on Sundays"))
        let options = PluginOptions<Empty>(middleware: [Answering(outcome: refusal)])
        try supervisor.register(
            Registration("work", as: Empty.self, from: .source("push"), options: options) { _, _ in
                called.append(1)
            }
        )
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning {
            #expect(await intake.deliver(arrivals([message("work")])) == [refusal])
        }
        #expect(called.all.isEmpty)
        #expect(supervisor.deadLetters.letters.map(\.outcome) == [refusal])
    }

    @Test func middlewareIsCalledOncePerAttempt() async throws {
        let clock = ManualClock()
        let supervisor = Supervisor.make(clock: clock)
        let seen = EventList<String>()
        supervisor.use(Noting(name: "m", seen: seen))
        let options = PluginOptions<Empty>(retry: RetryPolicy(attempts: 2))
        try supervisor.register(
            Registration("work", as: Empty.self, from: .source("push"), options: options) { _, context in
                if context.attempt == 1 { throw Refused() }
            }
        )
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning {
            _ = await clock.tick { await intake.deliver(arrivals([message("work")])) }
        }
        #expect(seen.all == ["m in 1", "m out failed", "m in 2", "m out handled"])
    }

    @Test func middlewareRunsBeforeTheBodyIsDecoded() async throws {
        let supervisor = Supervisor.make()
        let seen = EventList<String>()
        supervisor.use(Noting(name: "m", seen: seen))
        try supervisor.register(Registration("work", as: Int.self, from: .source("push")) { _, _ in })
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning {
            _ = await intake.deliver(arrivals([message("work"), message("work", body: "1")]))
        }
        #expect(seen.all == ["m in 1", "m out rejected", "m in 1", "m out handled"])
    }

    @Test func hungMiddlewareTimesOutLikeAPlugin() async throws {
        struct Hanging: Middleware {
            let gate: Gate
            func handle(_ context: ActionContext, next: MiddlewareNext) async -> Outcome {
                await gate.pass()
                return await next(context)
            }
        }
        let clock = ManualClock()
        let gate = Gate()
        let supervisor = Supervisor.make(clock: clock)
        supervisor.use(Hanging(gate: gate))
        try supervisor.register(Registration("work", as: Empty.self, from: .source("push")) { _, _ in })
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning {
            let outcomes = await clock.tick { await intake.deliver(arrivals([message("work")])) }
            #expect(outcomes.map(reason) == ["timeout"])
            gate.open()
            await supervisor.untilLateReturns(1)
        }
    }

    @Test func anObserverReceivesEveryOutcome() async throws {
        let supervisor = Supervisor.make()
        let seen = EventList<String>()
        supervisor.use(Watching(seen: seen))
        try supervisor.register(
            Registration("work", as: Int.self, from: .source("push")) { number, _ in
                if number == 0 { throw Refused() }
            }
        )
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning {
            let messages = [
                message("work", body: "1"), message("work", body: "0"), message("work"), message("who"), "{",
            ]
            for one in messages { _ = await intake.deliver(arrivals([one])) }
        }
        #expect(seen.all == ["work handled", "work threw", "work invalidBody", "- unknownAction", "- malformed"])
    }

    @Test func batchCallsBypassMiddleware() async throws {
        struct Counting: BatchPlugin {
            let action: ActionName = "work"
            func callAsActions(_ batch: [(info: Empty, context: ActionContext)]) async throws {}
        }
        let supervisor = Supervisor.make()
        let seen = EventList<String>()
        supervisor.use(Noting(name: "m", seen: seen))
        try supervisor.register(Registration(Counting(), from: .source("push")))
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning {
            #expect(await intake.deliver(arrivals([message("work")])) == [.handled(reply: nil)])
        }
        #expect(seen.all.isEmpty)
    }

    @Test func middlewareForAnUnknownPluginIsRefused() {
        let supervisor = Supervisor.make()
        #expect(throws: RegistrationError.noSuchAction("work")) {
            try supervisor.use(Answering(outcome: .handled(reply: nil)), for: "work")
        }
    }
}
