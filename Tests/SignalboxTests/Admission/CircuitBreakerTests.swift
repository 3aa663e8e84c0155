import Logging
import SignalboxCore
import SignalboxTesting
import Synchronization
import TestSupport
import Testing

@testable import Signalbox

@Suite(.timeLimit(.minutes(10))) struct CircuitBreakerTests {
    private static let policy = CircuitBreakerPolicy(failures: 3, openFor: .seconds(1))

    private static func register(_ calls: Counter, with supervisor: Supervisor) throws {
        try supervisor.register(
            Registration(
                "work",
                as: Bool.self,
                from: .any([.source("push"), .source("chat")]),
                options: PluginOptions(circuitBreaker: policy)
            ) { fails, _ in
                calls.count()
                if fails { throw Broken() }
            }
        )
    }

    private static func send(_ bodies: [String], to intake: any Intake) async -> [String] {
        await intake.deliver(arrivals(bodies.map { message("work", body: $0) })).map(reason)
    }

    @Test func consecutiveFailuresOpenTheBreakerUntilATrialSucceeds() async throws {
        let (clock, log, calls) = (ManualClock(), EventList<String>(), Counter())
        let logger = Logger(label: "test") { _ in RecordingLog(log) }
        let supervisor = Supervisor(configuration: SupervisorConfiguration(), logger: logger, clock: clock)
        try Self.register(calls, with: supervisor)
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning {
            #expect(await Self.send(["true", "true", "false"], to: intake) == ["threw", "threw", "handled"])
            #expect(
                await Self.send(["true", "1", "true", "1"], to: intake) == [
                    "threw", "invalidBody", "threw", "invalidBody",
                ]
            )
            #expect(await Self.send(["true"], to: intake) == ["threw"])
            #expect(await Self.send(["false", "false"], to: intake) == ["unavailable", "unavailable"])
            await clock.tick(9)
            #expect(await Self.send(["false"], to: intake) == ["unavailable"])
            await clock.tick(1)
            #expect(await Self.send(["true"], to: intake) == ["threw"])
            await clock.tick(9)
            #expect(await Self.send(["false"], to: intake) == ["unavailable"])
            await clock.tick(1)
            #expect(await Self.send(["1"], to: intake) == ["invalidBody"])
            #expect(await Self.send(["false"], to: intake) == ["handled"])
            #expect(await Self.send(["false", "true"], to: intake) == ["handled", "threw"])
        }
        #expect(calls.value == 10)
        let reported = log.all.filter { $0.contains("circuit breaker") }
        #expect(reported.count == 2)
        #expect(reported.first?.hasPrefix("warning circuit breaker opened") == true)
        #expect(
            reported.first?.contains("plugin=work") == true
                && reported.first?.contains("reason=threw: Broken()") == true
        )
        #expect(reported.last?.hasPrefix("notice circuit breaker closed") == true)
        #expect(reported.last?.contains("rejectedWhileOpen=4") == true)
    }

    @Test func arrivalsRejectedWhileOpenBecomeUnloggedDeadLetters() async throws {
        let (clock, log, calls) = (ManualClock(), EventList<String>(), Counter())
        let logger = Logger(label: "test") { _ in RecordingLog(log) }
        let supervisor = Supervisor(configuration: SupervisorConfiguration(), logger: logger, clock: clock)
        try Self.register(calls, with: supervisor)
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning {
            _ = await Self.send(["true", "true", "true"], to: intake)
            let lines = log.all.count
            let outcomes = await intake.deliver(arrivals(Array(repeating: message("work", body: "false"), count: 20)))
            #expect(log.all.count == lines)
            guard case .rejected(let rejection) = outcomes[0] else {
                Issue.record("\(outcomes[0])")
                return
            }
            #expect(rejection.detail.contains("the circuit breaker of plugin work is open"))
        }
        #expect(supervisor.deadLetters.total == 23)
    }

    @Test func onlyOneTrialRunsAtATimeAcrossSources() async throws {
        let clock = ManualClock()
        let supervisor = Supervisor.make(clock: clock) { $0.timeout = .seconds(60) }
        let gate = Gate()
        try supervisor.register(
            Registration(
                "work",
                as: Bool.self,
                from: .any([.source("push"), .source("chat")]),
                options: PluginOptions(circuitBreaker: Self.policy)
            ) { fails, _ in
                if fails { throw Broken() }
                await gate.pass()
            }
        )
        let push = try supervisor.intake(for: "push")
        let chat = try supervisor.intake(for: "chat")
        let sink = RecordingSink()
        try await supervisor.whileRunning {
            _ = await Self.send(["true", "true"], to: push)
            let third = arrivals(from: "chat", [message("work", body: "true")])
            #expect(await chat.deliver(third).map(reason) == ["threw"])
            await clock.tick(10)
            let tried = arrivals([message("work", body: "false"), message("work", body: "false")])
            #expect(push.submit(tried, to: sink) == 2)
            await gate.untilArrived(1)
            let other = arrivals(from: "chat", firstToken: 2, [message("work", body: "false")])
            #expect(chat.submit(other, to: sink) == 1)
            #expect(sink.outcomes.mapValues { $0.map(reason) } == [1: ["unavailable"], 2: ["unavailable"]])
            gate.open()
            await sink.untilSettled(3)
            #expect(sink.outcomes[0]?.map(reason) == ["handled"])
            #expect(await chat.deliver(other).map(reason) == ["handled"])
        }
    }

    @Test func timeoutsCountAsFailures() async throws {
        let clock = ManualClock()
        let supervisor = Supervisor.make(clock: clock) { $0.timeout = .seconds(1) }
        let gate = Gate()
        let policy = CircuitBreakerPolicy(failures: 1, openFor: .seconds(60))
        try supervisor.register(
            Registration("work", as: Empty.self, from: .source("push"), options: PluginOptions(circuitBreaker: policy))
            { _, _ in await gate.pass() }
        )
        let intake = try supervisor.intake(for: "push")
        let sink = RecordingSink()
        try await supervisor.whileRunning {
            #expect(intake.submit(arrivals([message("work")]), to: sink) == 1)
            await gate.untilArrived(1)
            await clock.tick(12)
            #expect(sink.outcomes[0]?.map(reason) == ["timeout"])
            gate.open()
            let next = await intake.deliver(arrivals([message("work")]))
            guard case .rejected(let rejection) = next[0] else {
                Issue.record("\(next[0])")
                return
            }
            #expect(rejection.reason == .unavailable && rejection.detail.contains("circuit breaker"))
        }
    }

    @Test func otherPluginsAndReplacementsAreUnaffected() async throws {
        let clock = ManualClock()
        let supervisor = Supervisor.make(clock: clock)
        try Self.register(Counter(), with: supervisor)
        try supervisor.register(Registration("other", as: Empty.self, from: .source("push")) { _, _ in })
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning {
            _ = await Self.send(["true", "true", "true"], to: intake)
            #expect(await intake.deliver(arrivals([message("other")])).map(reason) == ["handled"])
            #expect(await Self.send(["false"], to: intake) == ["unavailable"])
            try supervisor.register(
                Registration("work", as: Bool.self, from: .source("push")) { _, _ in },
                replacing: true
            )
            #expect(await Self.send(["false"], to: intake) == ["handled"])
        }
    }
}

/// A counter that a plugin increments.
final class Counter: Sendable {
    private let number = Atomic(0)

    var value: Int { number.load(ordering: .sequentiallyConsistent) }

    func count() { number.wrappingAdd(1, ordering: .sequentiallyConsistent) }
}

@Suite struct BreakerStateTests {
    private static let failed = Outcome.failed(Outcome.Failure(.threw, detail: "broken"))
    private static let rejected = Outcome.rejected(Outcome.Rejection(.invalidBody, detail: ""))

    private let all = arrivals(Array(repeating: message("work"), count: 10))
    private var state = BreakerState(failures: 2, openTicks: 10)

    private mutating func open(at now: UInt64) {
        #expect(state.settle(all[0], Self.failed, at: now) == nil)
        #expect(state.settle(all[1], Self.failed, at: now) == .opened)
    }

    @Test mutating func onlyConsecutiveFailuresOpenTheBreaker() {
        for outcome in [Self.failed, .handled(reply: nil), Self.failed] {
            #expect(state.settle(all[0], outcome, at: 0) == nil)
        }
        for outcome in [Self.rejected, .abandoned(.drain)] { #expect(state.settle(all[0], outcome, at: 0) == nil) }
        #expect(state.admits(all[0], at: 0) == true)
        #expect(state.settle(all[0], Self.failed, at: 0) == .opened)
        #expect(state.admits(all[0], at: 0) == false)
    }

    @Test mutating func theBreakerAdmitsOneTrialAfterTheOpenTime() {
        open(at: 5)
        #expect(state.admits(all[2], at: 14) == false)
        #expect(state.admits(all[2], at: 15) == true)
        #expect(state.admits(all[3], at: 15) == false)
        #expect(state.admits(all[3], at: 1_000) == false)
        #expect(state.settle(all[2], .handled(reply: nil), at: 1_000) == .closed(rejected: 3))
        #expect(state.admits(all[3], at: 1_000) == true)
        #expect(state.admits(all[4], at: 1_000) == true)
    }

    @Test mutating func aFailedTrialRestartsTheOpenTime() {
        open(at: 0)
        #expect(state.admits(all[2], at: 10) == true)
        #expect(state.settle(all[2], Self.failed, at: 20) == nil)
        #expect(state.admits(all[3], at: 29) == false)
        #expect(state.admits(all[3], at: 30) == true)
        #expect(state.settle(all[3], .handled(reply: nil), at: 30) == .closed(rejected: 1))
        // The failure count starts at zero again.
        #expect(state.settle(all[4], Self.failed, at: 30) == nil)
    }

    @Test(arguments: [BreakerStateTests.rejected, .abandoned(.ackDeadline)])
    mutating func anInconclusiveTrialAllowsAnotherTrial(_ outcome: Outcome) {
        open(at: 0)
        #expect(state.admits(all[2], at: 10) == true)
        #expect(state.settle(all[2], outcome, at: 10) == nil)
        #expect(state.admits(all[3], at: 10) == true)
        #expect(state.admits(all[4], at: 10) == false)
    }

    @Test mutating func outcomesOfEarlierArrivalsAreIgnoredWhileOpen() {
        open(at: 0)
        #expect(state.settle(all[2], .handled(reply: nil), at: 1) == nil)
        #expect(state.settle(all[3], Self.failed, at: 9) == nil)
        #expect(state.admits(all[4], at: 9) == false)
        #expect(state.admits(all[4], at: 10) == true)
        for outcome in [Self.failed, .handled(reply: nil), Self.rejected] {
            #expect(state.settle(all[5], outcome, at: 10) == nil)
        }
        #expect(state.admits(all[6], at: 10) == false)
        #expect(state.settle(all[4], .handled(reply: nil), at: 11) == .closed(rejected: 2))
    }
}
