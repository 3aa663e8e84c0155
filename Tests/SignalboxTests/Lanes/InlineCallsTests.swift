import SignalboxCore
import SignalboxTesting
import Synchronization
import TestSupport
import Testing

@testable import Signalbox

/// Calls on the thread that submits.
@Suite(.timeLimit(.minutes(10))) struct InlineCallsTests {
    private static let both = AccessRule.any([.source("push"), .source("chat")])

    private func numbers(_ range: Range<Int>, of action: String = "count", from source: SourceName = "push")
        -> [Arrival]
    {
        arrivals(from: source, firstToken: UInt64(range.lowerBound), range.map { message(action, body: "\($0)") })
    }

    private func registration(
        _ action: ActionName = "count",
        _ options: PluginOptions<Int> = PluginOptions(runsInline: true),
        _ handler: @escaping @Sendable (Int) throws -> Void
    ) -> Registration {
        Registration(action, as: Int.self, from: Self.both, options: options) { number, _ in try handler(number) }
    }

    @Test func everythingIsSettledWhenSubmitReturns() async throws {
        let (supervisor, calls, sink) = (Supervisor.make(), CallPlaces(), RecordingSink())
        try supervisor.register(registration { calls.add($0) })
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning {
            for start in [0, 1, 65] {
                let batch = numbers(start..<(start == 1 ? 65 : start + 1))
                #expect(intake.submit(batch, to: sink) == batch.count)
                #expect(sink.acknowledged == (0..<start + batch.count).map(UInt64.init))
            }
        }
        #expect(calls.inline == Array(0..<66))
    }

    @Test func invalidBodiesAndFailuresAreOutcomesAsElsewhere() async throws {
        let (supervisor, sink) = (Supervisor.make(), RecordingSink())
        try supervisor.register(registration { if $0 == 1 { throw TestError() } })
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning {
            let batch = arrivals([
                message("count", body: "0"), message("count", body: "1"), message("count", body: "[]"),
            ])
            #expect(intake.submit(batch, to: sink) == 3)
            #expect((0...2).map { sink.outcomes[$0]?.map(reason) } == [["handled"], ["threw"], ["invalidBody"]])
        }
        #expect(supervisor.deadLetters.total == 2)
    }

    @Test func moreThan64MessagesRunOnTheLane() async throws {
        let (supervisor, calls) = (Supervisor.make(), CallPlaces())
        try supervisor.register(registration { calls.add($0) })
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning {
            #expect(await intake.deliver(numbers(0..<65)).allSatisfy { $0 == .handled(reply: nil) })
        }
        #expect(calls.numbers == Array(0..<65))
        #expect(calls.inline.isEmpty)
    }

    @Test func messagesForTwoPluginsRunOnTheirLanes() async throws {
        let (supervisor, calls) = (Supervisor.make(), CallPlaces())
        try supervisor.register(registration { calls.add($0) })
        try supervisor.register(registration("other") { calls.add($0) })
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning {
            let batch = arrivals([message("count", body: "0"), message("other", body: "1")])
            #expect(await intake.deliver(batch).count == 2)
            // The rejection must not wait for the call, nor the call for the rejection.
            let rejected = arrivals([message("nobody"), message("other", body: "2")])
            #expect(await intake.deliver(rejected).map(reason) == ["unknownAction", "handled"])
        }
        #expect(Set(calls.numbers) == [0, 1, 2])
        #expect(calls.inline.isEmpty)
    }

    @Test func middlewareRunsOnTheLane() async throws {
        let (supervisor, calls) = (Supervisor.make(), CallPlaces())
        try supervisor.register(registration { calls.add($0) })
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning {
            _ = await intake.deliver(numbers(0..<1))
            supervisor.use(Passing())
            _ = await intake.deliver(numbers(1..<2))
        }
        #expect(calls.numbers == [0, 1])
        #expect(calls.inline == [0])
    }

    private struct Passing: Middleware {
        func handle(_ context: ActionContext, next: MiddlewareNext) async -> Outcome { await next(context) }
    }

    @Test func whatComesDuringACallFollowsOnTheLane() async throws {
        let (supervisor, calls, gate, sink) = (Supervisor.make(), CallPlaces(), BlockingGate(), RecordingSink())
        try supervisor.register(
            registration { number in
                calls.add(number)
                if number == 0 { gate.pass() }
            }
        )
        let (push, chat) = (try supervisor.intake(for: "push"), try supervisor.intake(for: "chat"))
        try await supervisor.whileRunning {
            gate.onAnotherThread { _ = push.submit(self.numbers(0..<2), to: sink) }
            await gate.untilEntered(1)
            #expect(push.submit(numbers(2..<4), to: sink) == 2)
            #expect(chat.submit(numbers(10..<11, from: "chat"), to: sink) == 1)
            #expect(calls.numbers == [0])
            gate.open()
            await sink.untilSettled(5)
            #expect(push.submit(numbers(4..<5), to: sink) == 1)
            await sink.untilSettled(6)
        }
        #expect(calls.numbers.filter { $0 < 10 } == [0, 1, 2, 3, 4])
        // The other source has its turn before the rest of the first.
        #expect(calls.numbers.prefix(2) == [0, 10])
        #expect(Set(calls.inline).isDisjoint(with: [2, 3, 10]))
    }

    @Test func callsAreNotNested() async throws {
        let (supervisor, calls, sink) = (Supervisor.make(), CallPlaces(), RecordingSink())
        let chat = try supervisor.intake(for: "chat")
        try supervisor.register(
            registration { number in
                calls.add(number)
                _ = chat.submit(self.numbers(7..<8, of: "inner", from: "chat"), to: sink)
            }
        )
        let inner = CallPlaces()
        try supervisor.register(registration("inner") { inner.add($0) })
        let push = try supervisor.intake(for: "push")
        try await supervisor.whileRunning {
            #expect(push.submit(numbers(0..<1), to: sink) == 1)
            await sink.untilSettled(2)
            #expect(chat.submit(numbers(8..<9, of: "inner", from: "chat"), to: sink) == 1)
            await sink.untilSettled(3)
        }
        #expect(calls.inline == [0])
        #expect(inner.numbers == [7, 8])
        #expect(!inner.inline.contains(7))
    }

    @Test func aRetryRunsOnTheLane() async throws {
        let (clock, calls, sink) = (ManualClock(), CallPlaces(), RecordingSink())
        let supervisor = Supervisor.make(clock: clock)
        let policy = RetryPolicy(attempts: 2, firstDelay: .milliseconds(100), longestDelay: .milliseconds(100))
        try supervisor.register(
            registration("count", PluginOptions(retry: policy, runsInline: true)) { number in
                calls.add(number)
                if calls.numbers.count == 1 { throw Passed() }
            }
        )
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning {
            #expect(intake.submit(numbers(0..<2), to: sink) == 2)
            #expect(sink.events.isEmpty)
            await clock.tick(2)
            await sink.untilSettled(2)
        }
        #expect(calls.numbers == [0, 0, 1])
        #expect(calls.inline == [0])
        #expect(sink.acknowledged == [0, 1])
    }

    private struct Passed: RetryableError {}
}
