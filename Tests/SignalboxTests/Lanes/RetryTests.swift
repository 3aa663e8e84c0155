import SignalboxCore
import SignalboxTesting
import Synchronization
import TestSupport
import Testing

@testable import Signalbox

/// Retries of failed calls.
@Suite struct RetryTests {
    struct Refused: RetryableError {}
    struct Broken: Error {}
    /// A refusal that says when to come back.
    struct Busy: RetryableError { let retryDelay: Duration? }

    /// Plugin code that throws the given errors in its first calls.
    final class Unsteady: Sendable {
        private let failures: [any Error]
        private let calls = Mutex<[Int]>([])

        init(_ failures: [any Error]) { self.failures = failures }

        var attempts: [Int] { calls.withLock { $0 } }

        func call(_ context: ActionContext) throws {
            let position = calls.withLock { calls in
                calls.append(context.attempt)
                return calls.count - 1
            }
            if position < failures.count { throw failures[position] }
        }
    }

    private static func outcome(
        of plugin: Unsteady,
        _ policy: RetryPolicy?,
        features: AdapterFeatures = [],
        ackDeadline: Duration = .seconds(5)
    ) async throws -> (Outcome, Supervisor) {
        let clock = ManualClock()
        let supervisor = Supervisor.make(clock: clock) { $0.ackDeadline = ackDeadline }
        let options = PluginOptions<Empty>(retry: policy)
        try supervisor.register(
            Registration("work", as: Empty.self, from: .source("push"), options: options) { _, context in
                try plugin.call(context)
            }
        )
        let intake = try supervisor.intake(for: "push", features: features)
        let outcome = try await supervisor.whileRunning {
            await clock.tick { await intake.deliver(arrivals([message("work")])) }
        }
        return (outcome[0], supervisor)
    }

    @Test func retryableFailuresAreRetried() async throws {
        let plugin = Unsteady([Refused(), Refused()])
        let (outcome, supervisor) = try await Self.outcome(of: plugin, RetryPolicy(attempts: 3))
        #expect(outcome == .handled(reply: nil))
        #expect(plugin.attempts == [1, 2, 3])
        #expect(supervisor.deadLetters.total == 0)
        #expect(supervisor.report.total.settled == 1)
    }

    @Test func exhaustedRetriesCountAsOneFailure() async throws {
        let plugin = Unsteady(Array(repeating: Refused(), count: 9))
        let (outcome, supervisor) = try await Self.outcome(of: plugin, RetryPolicy(attempts: 4))
        #expect(reason(outcome) == "threw")
        #expect(plugin.attempts == [1, 2, 3, 4])
        #expect(supervisor.deadLetters.total == 1)
        #expect(supervisor.report.total.failed == 1)
    }

    @Test func anErrorThatIsNotRetryableIsFinal() async throws {
        let plugin = Unsteady([Broken()])
        let (outcome, _) = try await Self.outcome(of: plugin, RetryPolicy())
        #expect(reason(outcome) == "threw")
        #expect(plugin.attempts == [1])
    }

    @Test func withoutAPolicyFailuresAreNotRetried() async throws {
        let plugin = Unsteady([Refused()])
        let (outcome, _) = try await Self.outcome(of: plugin, nil)
        #expect(reason(outcome) == "threw")
        #expect(plugin.attempts == [1])
    }

    @Test func aThrownFailureDecidesWhetherItIsRetried() async throws {
        let failures = [
            Outcome.Failure(.threw, detail: "busy", isRetryable: true), Outcome.Failure(.threw, detail: "gone"),
        ]
        let plugin = Unsteady(failures)
        let (outcome, _) = try await Self.outcome(of: plugin, RetryPolicy())
        #expect(outcome == .failed(failures[1]))
        #expect(plugin.attempts == [1, 2])
    }

    @Test func noAttemptStartsAfterTheAckDeadline() async throws {
        let plugin = Unsteady(Array(repeating: Refused(), count: 200))
        let policy = RetryPolicy(attempts: 100, firstDelay: .seconds(1), longestDelay: .seconds(1))
        let (outcome, supervisor) = try await Self.outcome(
            of: plugin,
            policy,
            features: .redelivers,
            ackDeadline: .milliseconds(400)
        )
        #expect(reason(outcome) == "threw")
        // The limit is four ticks, and each wait takes at least one.
        #expect((1...4).contains(plugin.attempts.count))
        #expect(supervisor.deadLetters.total == 1)
    }

    /// The requested wait is a hundred ticks.
    @Test(.timeLimit(.minutes(10))) func noAttemptStartsBeforeTheRequestedDelay() async throws {
        let (clock, plugin) = (ManualClock(), Unsteady([Busy(retryDelay: .seconds(10))]))
        let supervisor = Supervisor.make(clock: clock)
        let options = PluginOptions<Empty>(retry: RetryPolicy(attempts: 2, firstDelay: .milliseconds(100)))
        let called = EventList<Int>()
        try supervisor.register(
            Registration("work", as: Empty.self, from: .source("push"), options: options) { _, context in
                called.append(context.attempt)
                try plugin.call(context)
            }
        )
        let intake = try supervisor.intake(for: "push")
        let sink = RecordingSink()
        try await supervisor.whileRunning {
            #expect(intake.submit(arrivals([message("work")]), to: sink) == 1)
            _ = await called.first(1)
            await clock.tick(100)
            #expect(plugin.attempts == [1])
            await clock.tick { await sink.untilSettled(1) }
        }
        #expect(plugin.attempts == [1, 2])
        #expect(sink.outcomes[0] == [.handled(reply: nil)])
    }

    @Test func aRequestedDelayBeyondTheLimitsIsTheEnd() async throws {
        let busy = Busy(retryDelay: .seconds(60))
        let redelivered = Unsteady([busy])
        let (first, _) = try await Self.outcome(
            of: redelivered,
            RetryPolicy(),
            features: .redelivers,
            ackDeadline: .seconds(30)
        )
        #expect(reason(first) == "threw")
        #expect(redelivered.attempts == [1])
        let limited = Unsteady([busy])
        let (second, _) = try await Self.outcome(of: limited, RetryPolicy(upTo: .seconds(30)))
        #expect(reason(second) == "threw")
        #expect(limited.attempts == [1])
    }

    /// The timeout is a thousand ticks. Both attempts together take longer.
    @Test(.timeLimit(.minutes(10))) func theTimeoutAppliesToEachAttempt() async throws {
        let (clock, gate) = (ManualClock(), Gate())
        let supervisor = Supervisor.make(clock: clock) { $0.timeout = .seconds(100) }
        let options = PluginOptions<Empty>(retry: RetryPolicy(attempts: 2, firstDelay: .milliseconds(100)))
        try supervisor.register(
            Registration("work", as: Empty.self, from: .source("push"), options: options) { _, context in
                await gate.pass()
                if context.attempt == 1 { throw Refused() }
            }
        )
        let intake = try supervisor.intake(for: "push")
        let sink = RecordingSink()
        try await supervisor.whileRunning {
            #expect(intake.submit(arrivals([message("work")]), to: sink) == 1)
            await gate.untilArrived(1)
            await clock.tick(800)
            gate.admit(1)
            while !Task.isCancelled, sink.outcomes.isEmpty, gate.arrived < 2 { await clock.tick() }
            await clock.tick(800)
            #expect(sink.outcomes.isEmpty)
            gate.admit(1)
            await sink.untilSettled(1)
        }
        #expect(sink.outcomes[0] == [.handled(reply: nil)])
    }

    @Test func aPendingRetryBlocksOnlyItsKey() async throws {
        struct Order: Codable, Sendable {
            let customer: String
            let number: Int
        }
        let clock = ManualClock()
        let supervisor = Supervisor.make(clock: clock)
        let called = EventList<String>()
        let options = PluginOptions<Order>(order: .key(\.customer), retry: RetryPolicy(attempts: 2))
        try supervisor.register(
            Registration("order", as: Order.self, from: .source("push"), options: options) { order, context in
                called.append("\(order.customer)\(order.number)#\(context.attempt)")
                if order.customer == "a", order.number == 1, context.attempt == 1 { throw Refused() }
            }
        )
        let intake = try supervisor.intake(for: "push")
        let sink = RecordingSink()
        try await supervisor.whileRunning {
            let bodies = [("a", 1), ("a", 2), ("b", 1)]
            let messages = bodies.map { message("order", body: #"{"customer":"\#($0.0)","number":\#($0.1)}"#) }
            #expect(intake.submit(arrivals(messages), to: sink) == 3)
            await sink.untilSettled(1)
            #expect(sink.outcomes[2] == [.handled(reply: nil)])
            #expect(called.all == ["a1#1", "b1#1"])
            await clock.tick { await sink.untilSettled(3) }
        }
        #expect(called.all == ["a1#1", "b1#1", "a1#2", "a2#1"])
    }

    @Test func aPendingRetryBlocksOnlyItsSource() async throws {
        let clock = ManualClock()
        let supervisor = Supervisor.make(clock: clock)
        let called = EventList<String>()
        let options = PluginOptions<Int>(retry: RetryPolicy(attempts: 2))
        let both = AccessRule.any([.source("push"), .source("chat")])
        try supervisor.register(
            Registration("work", as: Int.self, from: both, options: options) { number, context in
                called.append("\(context.origin.source)\(number)")
                if number == 0, context.attempt == 1 { throw Refused() }
            }
        )
        let push = try supervisor.intake(for: "push")
        let chat = try supervisor.intake(for: "chat")
        let sink = RecordingSink()
        try await supervisor.whileRunning {
            #expect(push.submit(arrivals([message("work", body: "0"), message("work", body: "1")]), to: sink) == 2)
            let other = await chat.deliver(arrivals(from: "chat", [message("work", body: "5")]))
            #expect(other == [.handled(reply: nil)])
            await clock.tick { await sink.untilSettled(2) }
        }
        #expect(called.all.filter { $0.hasPrefix("push") } == ["push0", "push0", "push1"])
    }

    @Test func aDrainAbandonsPendingRetries() async throws {
        let clock = ManualClock()
        let supervisor = Supervisor.make(clock: clock) { $0.drainLimit = .zero }
        let plugin = Unsteady(Array(repeating: Refused(), count: 1_000))
        let policy = RetryPolicy(attempts: 100, firstDelay: .seconds(3_600), longestDelay: .seconds(3_600))
        let options = PluginOptions<Empty>(retry: policy)
        try supervisor.register(
            Registration("work", as: Empty.self, from: .source("push"), options: options) { _, context in
                try plugin.call(context)
            }
        )
        let intake = try supervisor.intake(for: "push")
        let sink = RecordingSink()
        let run = Task { try await supervisor.run() }
        #expect(intake.submit(arrivals([message("work")]), to: sink) == 1)
        while !Task.isCancelled, plugin.attempts.isEmpty { await Task.yield() }
        supervisor.shutDown()
        try await clock.tick { try await run.value }
        #expect(sink.outcomes[0]?.map(reason) == ["drain"])
        #expect(sink.acknowledged.isEmpty)
    }

    /// A source does not keep a worker while all its calls fail.
    @Test func aFailingSourceDoesNotStarveOthers() async throws {
        let clock = ManualClock()
        let supervisor = Supervisor.make(clock: clock) { configuration in
            configuration.timeout = .seconds(86_400)
            configuration.drainLimit = .zero
        }
        let gate = Gate()
        let called = EventList<SourceName>()
        let policy = RetryPolicy(attempts: 2, firstDelay: .seconds(3_600), longestDelay: .seconds(3_600))
        try supervisor.register(
            Registration(
                "work",
                as: Empty.self,
                from: .any([.source("push"), .source("chat")]),
                options: PluginOptions(order: .none, retry: policy)
            ) { _, context in
                called.append(context.origin.source)
                await gate.pass()
                if context.origin.source == "push" { throw Refused() }
            }
        )
        let (push, chat) = (try supervisor.intake(for: "push"), try supervisor.intake(for: "chat"))
        let (failing, other) = (RecordingSink(), RecordingSink())
        try await clock.tick {
            try await supervisor.whileRunning {
                let messages = Array(repeating: message("work"), count: 20)
                #expect(push.submit(arrivals(messages), to: failing) == 20)
                await gate.untilArrived(1)
                #expect(chat.submit(arrivals(from: "chat", [message("work")]), to: other) == 1)
                gate.open()
                await other.untilSettled(1)
            }
        }
        #expect(called.all.prefix(3).contains("chat"))
    }

    @Test func noRetryStartsAfterTheDrainLimit() async throws {
        let clock = ManualClock()
        let supervisor = Supervisor.make(clock: clock) { $0.drainLimit = .milliseconds(300) }
        let plugin = Unsteady(Array(repeating: Refused(), count: 1_000))
        let policy = RetryPolicy(attempts: 100, firstDelay: .milliseconds(100), longestDelay: .milliseconds(100))
        let options = PluginOptions<Empty>(retry: policy)
        try supervisor.register(
            Registration("work", as: Empty.self, from: .source("push"), options: options) { _, context in
                try plugin.call(context)
            }
        )
        let intake = try supervisor.intake(for: "push")
        let sink = RecordingSink()
        let run = Task { try await supervisor.run() }
        #expect(intake.submit(arrivals([message("work")]), to: sink) == 1)
        while !Task.isCancelled, plugin.attempts.isEmpty { await Task.yield() }
        supervisor.shutDown()
        try await clock.tick { try await run.value }
        #expect(sink.outcomes[0]?.map(reason) == ["drain"])
        #expect(plugin.attempts.count <= 5)
    }

    @Test func failedActionsOfABatchAreRetriedTogether() async throws {
        struct Pairs: BatchPlugin {
            let called: EventList<[Int]>
            let action: ActionName = "work"
            func callAsActions(_ batch: [(info: Int, context: ActionContext)]) async throws {
                called.append(batch.map(\.info))
                if batch.contains(where: { $0.context.attempt == 1 }) { throw Refused() }
            }
        }
        let clock = ManualClock()
        let supervisor = Supervisor.make(clock: clock)
        let called = EventList<[Int]>()
        try supervisor.register(
            Registration(
                Pairs(called: called),
                from: .source("push"),
                options: PluginOptions(retry: RetryPolicy(attempts: 2))
            )
        )
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning {
            let messages = ["1", "\"no number\"", "3"].map { message("work", body: $0) }
            let outcomes = await clock.tick { await intake.deliver(arrivals(messages)) }
            #expect(outcomes.map(reason) == ["handled", "invalidBody", "handled"])
        }
        #expect(called.all == [[1, 3], [1, 3]])
    }

    /// The next attempt would begin after the deadline. The action fails as its call did, and does not expire.
    @Test func anActionFailsIfItsDeadlinePrecedesTheNextAttempt() async throws {
        let supervisor = Supervisor.make(clock: ManualClock())
        let ages = Duration.seconds(1_000_000_000)
        let options = PluginOptions<Empty>(retry: RetryPolicy(firstDelay: ages, longestDelay: ages))
        try supervisor.register(
            Registration("work", as: Empty.self, from: .source("push"), options: options) { _, _ in
                throw Outcome.Failure(.threw, detail: "not now", isRetryable: true)
            }
        )
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning {
            let soon = ContinuousClock.now + .seconds(600)
            let outcomes = await intake.deliver(arrivals(deadline: soon, [message("work")]))
            #expect(outcomes.map(reason) == ["threw"])
        }
        #expect(supervisor.deadLetters.letters.map(\.attempts) == [1])
    }

    @Test func theLongestWaitDoublesUpToItsLimit() {
        let policy = RetryPolicy(attempts: 100, firstDelay: .milliseconds(250), longestDelay: .seconds(3))
        let ticks = (1...8).map { policy.longestTicks(afterAttempt: $0, .milliseconds(100)) }
        #expect(ticks == [3, 5, 10, 20, 30, 30, 30, 30])
        #expect(policy.longestTicks(afterAttempt: .max, .milliseconds(100)) == 30)
    }
}
