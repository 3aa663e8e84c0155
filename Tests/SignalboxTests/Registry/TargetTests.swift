import ServiceLifecycle
import Signalbox
import SignalboxCore
import SignalboxTesting
import Testing

/// Sources that plugins send to, when a supervisor drains or removes them.
@Suite(.timeLimit(.minutes(10))) struct TargetTests {
    /// Waits until a source's intake abandons what it takes.
    private static func untilAbandoning(
        _ intake: any Intake,
        of source: SourceName,
        _ sink: RecordingSink
    ) async throws {
        var token: UInt64 = 0
        repeat {
            await Task.yield()
            token += 1
            let probe = arrivals(from: source, firstToken: token, [message("absent")])
            try #require(intake.submit(probe, to: sink) == 1, "the source has stopped before its messages are settled")
        } while sink.outcomes[token]?.map(reason) != ["drain"]
    }

    /// A plugin can send through its target until its call returns. Meanwhile a target whose senders wait for an
    /// outcome abandons what they send, and a target that redelivers reads nothing.
    @Test(arguments: [false, true])
    func aDrainStopsTargetsLast(_ redelivers: Bool) async throws {
        let supervisor = Supervisor.make()
        let gate = Gate()
        let target = TargetAdapter(source: "chat", features: redelivers ? .redelivers : [])
        try supervisor.add(target)
        supervisor.stopLast(["chat", "later"])
        try supervisor.register(
            Registration("work", as: Empty.self, from: .source("push")) { _, _ in
                await gate.pass()
                target.events.change { $0.append("sent") }
            }
        )
        let intake = try supervisor.intake(for: "push", window: WindowLimits(arrivals: 1))
        let (sink, late) = (RecordingSink(), RecordingSink())
        let group = ServiceGroup(services: [supervisor], logger: Supervisor.quiet)
        async let run: Void = group.run()
        let chat = await target.untilStarted()
        #expect(intake.submit(arrivals([message("work")]), to: sink) == 1)
        await gate.untilArrived(1)
        await group.triggerGracefulShutdown()
        // Intakes close in the order of their names, so the target's intake is closed as well.
        await #expect(throws: SourceClosed.self) { try await intake.room() }
        #expect(chat.submit(arrivals(from: "chat", [message("work")]), to: late) == (redelivers ? 0 : 1))
        #expect(late.outcomes[0]?.map(reason) == (redelivers ? nil : ["drain"]))
        if !redelivers { try await chat.room() }
        gate.open()
        try await run
        #expect(target.events.value.prefix(2) == ["started", "sent"])
        #expect(target.events.value.dropFirst(2).contains("closed"))
        #expect(sink.outcomes[0] == [.handled(reply: nil)])
        #expect(chat.submit(arrivals(from: "chat", [message("work")]), to: late) == 0)
    }

    /// A message of one target can still be sent to the other, although both are removed.
    @Test func targetsRemovedTogetherStopAfterTheirMessages() async throws {
        let supervisor = Supervisor.make()
        let gate = Gate()
        let (from, to) = (TargetAdapter(source: "chat"), TargetAdapter(source: "screen"))
        for adapter in [from, to] { try supervisor.add(adapter) }
        supervisor.stopLast(["chat", "screen"])
        try supervisor.register(
            Registration("work", as: Empty.self, from: .source("chat")) { _, _ in
                await gate.pass()
                to.events.change { $0.append("sent") }
            }
        )
        let (sink, late) = (RecordingSink(), RecordingSink())
        try await supervisor.whileRunning {
            let (chat, screen) = (await from.untilStarted(), await to.untilStarted())
            #expect(chat.submit(arrivals(from: "chat", [message("work")]), to: sink) == 1)
            await gate.untilArrived(1)
            async let removed = supervisor.remove(sources: ["chat", "screen", "absent"])
            try await Self.untilAbandoning(screen, of: "screen", late)
            #expect(await !supervisor.remove(source: "chat"))
            gate.open()
            #expect(await removed == ["chat", "screen"])
            #expect(sink.outcomes[0] == [.handled(reply: nil)])
            #expect(to.events.value.prefix(2) == ["started", "sent"])
            #expect(to.events.value.dropFirst(2).contains("closed"))
            try supervisor.add(TargetAdapter(source: "screen"))
        }
    }

    /// A call outlasts the limit. The target's adapter then still has the same time to end.
    @Test(arguments: [true, false])
    func theLimitLeavesATargetTimeToEnd(_ endsInTime: Bool) async throws {
        let clock = ManualClock()
        let supervisor = Supervisor.make(clock: clock) { configuration in
            configuration.timeout = .seconds(60)
            configuration.drainLimit = .seconds(1)
        }
        let (gate, ending) = (Gate(), Gate())
        let target = TargetAdapter(source: "chat", ending: ending)
        try supervisor.add(target)
        supervisor.stopLast(["chat"])
        try supervisor.register(
            Registration("work", as: Empty.self, from: .source("chat")) { _, _ in await gate.pass() }
        )
        let sink = RecordingSink()
        try await supervisor.whileRunning {
            let chat = await target.untilStarted()
            #expect(chat.submit(arrivals(from: "chat", [message("work")]), to: sink) == 1)
            await gate.untilArrived(1)
            async let isRemoved = supervisor.remove(source: "chat")
            try await Self.untilAbandoning(chat, of: "chat", RecordingSink())
            await clock.tick(10)
            await target.events.untilUncancelled { $0.contains("closed") }
            #expect(throws: RegistrationError.self) { try supervisor.intake(for: "chat") }
            if endsInTime { ending.open() } else { await clock.tick(10) }
            #expect(await isRemoved)
            _ = try supervisor.intake(for: "chat")
            ending.open()
            gate.open()
            await sink.untilSettled(1)
        }
    }
}

/// An adapter that waits for its intake to close, and records when that happens.
struct TargetAdapter: Adapter {
    let source: SourceName
    let features: AdapterFeatures
    let events = Watched<[String]>([])
    /// The adapter's run ends after it has passed this gate.
    private let ending: Gate
    private let intake = Watched<(any Intake)?>(nil)

    init(source: SourceName, features: AdapterFeatures = [], ending: Gate = Gate(isOpen: true)) {
        (self.source, self.features, self.ending) = (source, features, ending)
    }

    func run(into intake: any Intake) async {
        events.change { $0.append("started") }
        self.intake.change { $0 = intake }
        // The intake belongs to the supervisor, which has this adapter: a cycle.
        defer { self.intake.change { $0 = nil } }
        await withTaskCancellationHandler {
            while (try? await intake.room()) != nil { await Task.yield() }
            events.change { $0.append("closed") }
            await ending.pass()
        } onCancel: {
            events.change { $0.append("cancelled") }
        }
    }

    /// Returns the intake once the adapter runs.
    func untilStarted() async -> any Intake {
        while true {
            await intake.untilUncancelled { $0 != nil }
            if let intake = intake.value { return intake }
        }
    }
}
