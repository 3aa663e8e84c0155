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

    private static func unheld(half messages: Int, _ bytes: Int) -> Outcome {
        let reason =
            "at most \(messages) messages and \(bytes) bytes are held, half of what the source may have in progress"
        let detail = "no plugin is registered for this action, and the message is not held: \(reason)"
        return .rejected(Outcome.Rejection(.unknownAction, detail: detail))
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

    @Test func messagesWithoutAPluginLeaveHalfOfTheWindowToOthers() async throws {
        let supervisor = Supervisor.make(clock: ManualClock())
        let seen = EventList<Int>()
        try supervisor.register(Self.registration("ready", seen))
        let window = WindowLimits(arrivals: 8)
        let intake = try supervisor.intake(for: "links", window: window, hold: HoldLimits(time: .seconds(3_600)))
        let sink = RecordingSink()
        try await supervisor.whileRunning {
            #expect(intake.submit(Self.batch("open", 0..<8), to: sink) == 8)
            #expect(supervisor.report.total == OutcomeCounts(rejected: 4), "the other 4 are held")
            #expect(intake.submit(Self.batch("ready", 8..<12), to: sink) == 4)
            await sink.untilSettled(8)
            #expect(seen.all == [8, 9, 10, 11])
        }
        #expect(supervisor.deadLetters.letters.first?.outcome == Self.unheld(half: 4, 8 << 20))
    }

    @Test func heldMessagesUseHalfOfTheBytes() async throws {
        let supervisor = Supervisor.make(clock: ManualClock())
        let length = message("open", body: "{\"n\":0}").utf8.count
        let window = WindowLimits(bytes: 5 * length)
        let limits = HoldLimits(time: .seconds(3_600), messages: 3)
        let intake = try supervisor.intake(for: "links", window: window, hold: limits)
        let sink = RecordingSink()
        try await supervisor.whileRunning {
            #expect(intake.submit(Self.batch("open", 0..<4), to: sink) == 4)
            #expect(supervisor.report.total == OutcomeCounts(rejected: 2))
        }
    }

    /// An adapter that submits no more than a few messages at once would otherwise submit only those without a plugin.
    @Test func heldMessagesAreHalfOfWhatTheAdapterHasInFlight() async throws {
        let supervisor = Supervisor.make(clock: ManualClock())
        let adapter = NarrowAdapter(batch: Self.batch("open", 0..<7), sink: RecordingSink())
        try supervisor.add(adapter, hold: HoldLimits(time: .seconds(3_600)))
        try await supervisor.whileRunning {
            await adapter.sink.untilSettled(4)
            #expect(supervisor.report.total == OutcomeCounts(rejected: 4), "half of 7 is 3")
            adapter.end.open()
        }
    }

    /// Messages behind a held one wait too if their source redelivers, so it must not hold one after the other.
    @Test func aSourceThatRedeliversWaitsOnceForTheSamePlugins() async throws {
        let clock = ManualClock()
        let supervisor = Supervisor.make(clock: clock)
        let seen = EventList<Int>()
        let intake = try supervisor.intake(for: "links", features: .redelivers, hold: HoldLimits(time: .seconds(2)))
        let sink = RecordingSink()
        try await supervisor.whileRunning {
            #expect(intake.submit(Self.batch("open", 0..<1), to: sink) == 1)
            await clock.tick { await sink.untilSettled(1) }
            #expect(intake.submit(Self.batch("open", 1..<2), to: sink) == 1)
            #expect(supervisor.report.total == OutcomeCounts(rejected: 2), "the second is not held")
            try supervisor.register(Self.registration("ready", seen))
            #expect(intake.submit(Self.batch("open", 2..<3), to: sink) == 1)
            #expect(supervisor.report.total == OutcomeCounts(rejected: 2), "plugins have changed")
            try supervisor.register(Self.registration("open", seen))
            await sink.untilSettled(3)
        }
        #expect(seen.all == [2])
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

/// An adapter that says that it has at most 7 messages in flight. It submits one batch, and ends when its gate opens.
private struct NarrowAdapter: InFlightLimitedAdapter {
    let batch: [Arrival]
    let sink: RecordingSink
    let end = Gate()
    let source: SourceName = "links"
    let features: AdapterFeatures = []
    let maximumUnsettled = 7

    func run(into intake: any Intake) async {
        #expect(intake.submit(batch, to: sink) == batch.count)
        await end.pass()
    }
}
