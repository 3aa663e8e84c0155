import Signalbox
import SignalboxCore
import SignalboxTesting
import TestSupport
import Testing

/// Plugins that replace another plugin while calls are running.
@Suite struct PluginReplacementTests {
    /// Registers a plugin that records the start of each call and then waits at the gate.
    private static func register(
        _ name: String,
        in supervisor: Supervisor,
        _ begun: EventList<String>,
        options: PluginOptions<Int> = PluginOptions(),
        replacing: Bool = true,
        gate: Gate? = nil
    ) throws {
        try supervisor.register(registration(name, begun, options: options, gate: gate), replacing: replacing)
    }

    private static func registration(
        _ name: String,
        _ begun: EventList<String>,
        options: PluginOptions<Int> = PluginOptions(),
        gate: Gate? = nil
    ) -> Registration {
        Registration("work", as: Int.self, from: .source("push"), options: options) { number, _ in
            begun.append("\(name) \(number)")
            await gate?.pass()
        }
    }

    private static func numbers(_ numbers: Range<Int>) -> [Arrival] {
        arrivals(firstToken: UInt64(numbers.lowerBound), numbers.map { message("work", body: "\($0)") })
    }

    @Test func theReplacementWaitsUntilItsPredecessorIsDrained() async throws {
        let supervisor = Supervisor.make()
        let (begun, gate, sink) = (EventList<String>(), Gate(), RecordingSink())
        try Self.register("old", in: supervisor, begun, replacing: false, gate: gate)
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning {
            #expect(intake.submit(Self.numbers(0..<3), to: sink) == 3)
            await gate.untilArrived(1)
            try Self.register("new", in: supervisor, begun)
            #expect(intake.submit(Self.numbers(3..<6), to: sink) == 3)
            #expect(begun.all == ["old 0"])
            gate.open()
            await sink.untilSettled(6)
        }
        #expect(begun.all == ["old 0", "old 1", "old 2", "new 3", "new 4", "new 5"])
        #expect(supervisor.report.isClean)
    }

    @Test func anUnorderedReplacementDoesNotWait() async throws {
        let supervisor = Supervisor.make()
        let (begun, gate, sink) = (EventList<String>(), Gate(), RecordingSink())
        try Self.register("old", in: supervisor, begun, replacing: false, gate: gate)
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning {
            #expect(intake.submit(Self.numbers(0..<1), to: sink) == 1)
            await gate.untilArrived(1)
            try Self.register("new", in: supervisor, begun, options: PluginOptions(order: .none))
            #expect(intake.submit(Self.numbers(1..<2), to: sink) == 1)
            await sink.untilSettled(1)
            #expect(begun.all == ["old 0", "new 1"])
            gate.open()
            await sink.untilSettled(2)
        }
    }

    @Test(arguments: [false, true])
    func theLastReplacementWaitsForEveryPredecessor(_ isCalled: Bool) async throws {
        let supervisor = Supervisor.make()
        let (begun, gate, sink) = (EventList<String>(), Gate(), RecordingSink())
        try Self.register("first", in: supervisor, begun, replacing: false, gate: gate)
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning {
            #expect(intake.submit(Self.numbers(0..<1), to: sink) == 1)
            await gate.untilArrived(1)
            try Self.register("second", in: supervisor, begun)
            if isCalled { #expect(intake.submit(Self.numbers(1..<2), to: sink) == 1) }
            try Self.register("third", in: supervisor, begun)
            #expect(intake.submit(Self.numbers(2..<3), to: sink) == 1)
            #expect(begun.all == ["first 0"])
            gate.open()
            await sink.untilSettled(isCalled ? 3 : 2)
        }
        #expect(begun.all == ["first 0"] + (isCalled ? ["second 1"] : []) + ["third 2"])
    }

    @Test func theReplacementDoesNotWaitForAnOverdueCall() async throws {
        let clock = ManualClock()
        let supervisor = Supervisor.make(clock: clock)
        let (begun, gate, sink) = (EventList<String>(), Gate(), RecordingSink())
        let options = PluginOptions<Int>(timeout: .milliseconds(300))
        try Self.register("old", in: supervisor, begun, options: options, replacing: false, gate: gate)
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning {
            #expect(intake.submit(Self.numbers(0..<1), to: sink) == 1)
            await gate.untilArrived(1)
            try Self.register("new", in: supervisor, begun)
            #expect(intake.submit(Self.numbers(1..<2), to: sink) == 1)
            await clock.tick(6)
            await sink.untilSettled(2)
            #expect(sink.outcomes[0]?.map(reason) == ["timeout"])
            #expect(sink.outcomes[1]?.map(reason) == ["handled"])
            gate.open()
        }
        #expect(begun.all == ["old 0", "new 1"])
    }

    @Test func aPluginAwaitingItsReplacementIsRefused() async throws {
        let supervisor = Supervisor.make()
        let (gate, answers) = (Gate(), EventList<String>())
        let intake = try supervisor.intake(for: "push")
        try supervisor.register(
            Registration("work", as: Int.self, from: .source("push")) { _, _ in
                await gate.pass()
                answers.append(contentsOf: await intake.deliver(Self.numbers(7..<8)).map(reason))
            }
        )
        let sink = RecordingSink()
        try await supervisor.whileRunning {
            #expect(intake.submit(Self.numbers(0..<1), to: sink) == 1)
            await gate.untilArrived(1)
            for name in ["second", "third"] { try Self.register(name, in: supervisor, EventList()) }
            gate.open()
            await sink.untilSettled(1)
        }
        #expect(answers.all == ["reentrant"])
        #expect(supervisor.report.isClean)
    }

    @Test func aHundredReplacementsPreserveTheOrder() async throws {
        let supervisor = Supervisor.make()
        let (begun, sink) = (EventList<String>(), RecordingSink())
        try Self.register("", in: supervisor, begun, replacing: false)
        let intake = try supervisor.intake(for: "push", window: WindowLimits(arrivals: 10_000))
        try await supervisor.whileRunning {
            for round in 0..<100 {
                #expect(intake.submit(Self.numbers(round * 50..<(round + 1) * 50), to: sink) == 50)
                try supervisor.apply([.remove("work"), .add(Self.registration("", begun))])
            }
            await sink.untilSettled(5_000)
        }
        #expect(begun.all == (0..<5_000).map { " \($0)" })
    }

    @Test func stoppingAbandonsArrivalsThatWaitForThePredecessor() async throws {
        let clock = ManualClock()
        let supervisor = Supervisor.make(clock: clock) { $0.drainLimit = .milliseconds(300) }
        let (begun, gate, sink) = (EventList<String>(), Gate(), RecordingSink())
        let options = PluginOptions<Int>(timeout: .seconds(60))
        try Self.register("old", in: supervisor, begun, options: options, replacing: false, gate: gate)
        let intake = try supervisor.intake(for: "push")
        let run = Task { try await supervisor.run() }
        #expect(intake.submit(Self.numbers(0..<1), to: sink) == 1)
        await gate.untilArrived(1)
        try Self.register("new", in: supervisor, begun)
        #expect(intake.submit(Self.numbers(1..<2), to: sink) == 1)
        run.cancel()
        try await run.value
        #expect(sink.outcomes[0]?.map(reason) == ["stop"])
        #expect(sink.outcomes[1]?.map(reason) == ["stop"])
        #expect(begun.all == ["old 0"])
        gate.open()
    }
}
