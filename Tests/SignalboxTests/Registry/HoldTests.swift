import SignalboxCore
import SignalboxTesting
import TestSupport
import Testing

@testable import Signalbox

@Suite(.timeLimit(.minutes(10))) struct HoldTests {
    private static func registration(_ action: ActionName, _ seen: EventList<Int>) -> Registration {
        Registration(action, as: [String: Int].self, from: .source("links")) { body, _ in
            seen.append(body["n"] ?? -1)
        }
    }

    private static func batch(_ action: String, _ numbers: Range<Int>) -> [Arrival] {
        arrivals(
            from: "links",
            firstToken: UInt64(numbers.lowerBound),
            numbers.map { message(action, body: "{\"n\":\($0)}") }
        )
    }

    @Test func heldMessagesReachTheirPluginInOrderBeforeLaterOnes() async throws {
        let supervisor = Supervisor.make(clock: ManualClock())
        let seen = EventList<Int>()
        try supervisor.register(Self.registration("ready", seen))
        let intake = try supervisor.intake(for: "links", hold: HoldLimits())
        let sink = RecordingSink()
        try await supervisor.whileRunning {
            #expect(intake.submit(Self.batch("open", 0..<3), to: sink) == 3)
            #expect(intake.submit(Self.batch("ready", 3..<4), to: sink) == 1)
            await sink.untilSettled(1)
            #expect(seen.all == [3], "a held message does not keep others from their plugins")
            try supervisor.register(Self.registration("open", seen))
            #expect(intake.submit(Self.batch("open", 4..<6), to: sink) == 2)
            await sink.untilSettled(6)
        }
        #expect(seen.all == [3, 0, 1, 2, 4, 5])
        #expect(supervisor.report.total == OutcomeCounts(handled: 6))
    }

    @Test func aMessageThatWaitedLongEnoughIsRejectedAsUsual() async throws {
        let clock = ManualClock()
        let supervisor = Supervisor.make(clock: clock)
        let intake = try supervisor.intake(for: "links", hold: HoldLimits(time: .seconds(2)))
        let sink = RecordingSink()
        try await supervisor.whileRunning {
            #expect(intake.submit(Self.batch("open", 0..<1), to: sink) == 1)
            await clock.tick(15)
            #expect(supervisor.report.total.settled == 0)
            await clock.tick { await sink.untilSettled(1) }
            #expect(supervisor.report.total == OutcomeCounts(rejected: 1))
        }
        #expect(supervisor.deadLetters.letters.map { reason($0.outcome) } == ["unknownAction"])
    }

    @Test func theMessagesOverTheLimitAreRejectedAtOnce() async throws {
        let supervisor = Supervisor.make(clock: ManualClock())
        let seen = EventList<Int>()
        let intake = try supervisor.intake(for: "links", hold: HoldLimits(messages: 2))
        let sink = RecordingSink()
        try await supervisor.whileRunning {
            #expect(intake.submit(Self.batch("open", 0..<5), to: sink) == 5)
            await sink.untilSettled(3)
            #expect(supervisor.report.total == OutcomeCounts(rejected: 3))
            try supervisor.register(Self.registration("open", seen))
            await sink.untilSettled(5)
        }
        #expect(seen.all == [0, 1])
    }

    @Test(arguments: [(AdapterFeatures(), "unknownAction"), (.redelivers, "drain")])
    func heldMessagesDoNotDelayTheEnd(_ features: AdapterFeatures, _ end: String) async throws {
        let supervisor = Supervisor.make(clock: ManualClock())
        let intake = try supervisor.intake(for: "links", features: features, hold: HoldLimits(time: .seconds(3_600)))
        let sink = RecordingSink()
        try await supervisor.whileRunning {
            #expect(intake.submit(Self.batch("open", 0..<1), to: sink) == 1)
        }
        #expect(supervisor.report.unsettled == 0)
        let total = supervisor.report.total
        #expect(total == (end == "drain" ? OutcomeCounts(abandoned: 1) : OutcomeCounts(rejected: 1)))
    }

    @Test func aSourceWithoutHoldRejectsAtOnce() async throws {
        let supervisor = Supervisor.make(clock: ManualClock())
        let intake = try supervisor.intake(for: "links")
        try await supervisor.whileRunning {
            #expect(await intake.deliver(Self.batch("open", 0..<1)).map(reason) == ["unknownAction"])
        }
    }
}
