import SignalboxCore
import SignalboxTesting
import Synchronization
import Testing

@testable import Signalbox

@Suite struct RemoveSourceTests {
    @Test func removingASourceFreesItsNameAndStopsNoOther() async throws {
        let supervisor = Supervisor.make()
        try supervisor.register(
            Registration("work", as: Empty.self, from: .any([.source("push"), .source("chat")])) { _, _ in }
        )
        let (push, chat) = (InMemoryAdapter(source: "push"), InMemoryAdapter(source: "chat"))
        try supervisor.add(push)
        try supervisor.add(chat)
        try await supervisor.whileRunning {
            #expect(await push.send("work") == .handled(reply: nil))
            #expect(await supervisor.remove(source: "push"))
            #expect(await chat.send("work") == .handled(reply: nil))
            try supervisor.add(push)
            #expect(await push.send("work") == .handled(reply: nil))
        }
        #expect(supervisor.report.sources["push"]?.handled == 2)
        #expect(supervisor.report.sources["chat"]?.handled == 1)
        #expect(supervisor.report.isClean)
    }

    @Test func takenArrivalsAreHandledBeforeTheRemoval() async throws {
        let supervisor = Supervisor.make()
        let gate = Gate()
        try supervisor.register(
            Registration("work", as: Empty.self, from: .source("push")) { _, _ in await gate.pass() }
        )
        let intake = try supervisor.intake(for: "push", window: WindowLimits(arrivals: 2))
        let sink = RecordingSink()
        try await supervisor.whileRunning {
            #expect(intake.submit(arrivals([message("work"), message("work")]), to: sink) == 2)
            await gate.untilArrived(1)
            async let isRemoved = supervisor.remove(source: "push")
            await #expect(throws: SourceClosed.self) { try await intake.room() }
            #expect(intake.submit(arrivals([message("work")]), to: sink) == 0)
            gate.open()
            #expect(await isRemoved)
            #expect(sink.outcomes.values.allSatisfy { $0 == [.handled(reply: nil)] })
            #expect(sink.acknowledged == [0, 1])
        }
    }

    /// The running call does not stall the plugin. The remaining source is served as soon as the call returns.
    @Test func theDrainLimitAbandonsWaitingArrivalsOfOneSource() async throws {
        let clock = ManualClock()
        let supervisor = Supervisor.make(clock: clock) { configuration in
            configuration.timeout = .seconds(60)
            configuration.drainLimit = .seconds(1)
        }
        let gate = Gate()
        try supervisor.register(
            Registration("work", as: Empty.self, from: .any([.source("push"), .source("chat")])) { _, _ in
                await gate.pass()
            }
        )
        let (push, chat) = (
            try supervisor.intake(for: "push", window: WindowLimits(arrivals: 2)), try supervisor.intake(for: "chat")
        )
        let (left, kept) = (RecordingSink(), RecordingSink())
        try await supervisor.whileRunning {
            #expect(push.submit(arrivals([message("work"), message("work")]), to: left) == 2)
            await gate.untilArrived(1)
            #expect(chat.submit(arrivals(from: "chat", [message("work")]), to: kept) == 1)
            async let isRemoved = supervisor.remove(source: "push")
            await #expect(throws: SourceClosed.self) { try await push.room() }
            await clock.tick(10)
            #expect(await isRemoved)
            #expect(left.outcomes[1]?.map(reason) == ["drain"])
            #expect(left.outcomes[0] == nil)
            #expect(supervisor.report.unsettled == 2)
            _ = try supervisor.intake(for: "push")
            gate.open()
            await left.untilSettled(2)
            await kept.untilSettled(1)
            #expect(left.outcomes[0] == [.handled(reply: nil)])
            #expect(left.acknowledged == [0])
            #expect(kept.outcomes[0] == [.handled(reply: nil)])
        }
        #expect(supervisor.report.sources["push"] == OutcomeCounts(handled: 1, abandoned: 1))
        #expect(supervisor.report.unsettled == 0)
    }

    @Test(.timeLimit(.minutes(10))) func aRemovalAbandonsPendingRetries() async throws {
        let clock = ManualClock()
        let supervisor = Supervisor.make(clock: clock) { $0.drainLimit = .milliseconds(300) }
        let retry = RetryPolicy(attempts: 2, firstDelay: .seconds(3_600), longestDelay: .seconds(3_600))
        let calls = Watched(0)
        try supervisor.register(
            Registration("work", as: Empty.self, from: .source("push"), options: PluginOptions(retry: retry)) { _, _ in
                calls.change { $0 += 1 }
                throw RetryableFault()
            }
        )
        let intake = try supervisor.intake(for: "push", window: WindowLimits(arrivals: 1))
        let sink = RecordingSink()
        // Ticks until the run has ended, because the removal may come before the wait for the next attempt.
        try await clock.tick {
            try await supervisor.whileRunning {
                #expect(intake.submit(arrivals([message("work")]), to: sink) == 1)
                await calls.untilUncancelled { $0 == 1 }
                async let isRemoved = supervisor.remove(source: "push")
                await #expect(throws: SourceClosed.self) { try await intake.room() }
                #expect(await isRemoved)
                await sink.untilSettled(1)
                #expect(sink.outcomes[0]?.map(reason) == ["drain"])
            }
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func aCallThatReturnsAfterTheRemovalIsCounted() async throws {
        let clock = ManualClock()
        let supervisor = Supervisor.make(clock: clock) { $0.timeout = .milliseconds(100) }
        let gate = Gate()
        try supervisor.register(
            Registration("work", as: Empty.self, from: .source("push")) { _, _ in await gate.pass() }
        )
        let intake = try supervisor.intake(for: "push")
        let sink = RecordingSink()
        try await supervisor.whileRunning {
            #expect(intake.submit(arrivals([message("work")]), to: sink) == 1)
            await gate.untilArrived(1)
            await clock.tick { await sink.untilSettled(1) }
            #expect(await supervisor.remove(source: "push"))
            _ = try supervisor.intake(for: "push")
            gate.open()
            while !Task.isCancelled, supervisor.report.sources["push"]?.lateReturns != 1 { await Task.yield() }
        }
        #expect(supervisor.report.sources["push"] == OutcomeCounts(failed: 1, lateReturns: 1))
    }

    /// The removal stops waiting for the call at its limit. The drain that started in the meantime waits for it.
    @Test func aDrainWaitsForACallOfASourceBeingRemoved() async throws {
        let clock = ManualClock()
        let supervisor = Supervisor.make(clock: clock) { configuration in
            configuration.timeout = .seconds(60)
            configuration.drainLimit = .seconds(1)
        }
        let gate = Gate()
        try supervisor.register(
            Registration("work", as: Empty.self, from: .source("push")) { _, _ in await gate.pass() }
        )
        let intake = try supervisor.intake(for: "push", window: WindowLimits(arrivals: 1))
        let sink = RecordingSink()
        let run = Task { try await supervisor.run() }
        #expect(intake.submit(arrivals([message("work")]), to: sink) == 1)
        await gate.untilArrived(1)
        async let isRemoved = supervisor.remove(source: "push")
        await #expect(throws: SourceClosed.self) { try await intake.room() }
        await clock.tick(5)
        supervisor.shutDown()
        await clock.tick(5)
        #expect(await isRemoved)
        try await clock.tick { try await run.value }
        #expect(sink.outcomes[0]?.map(reason) == ["drain"])
        #expect(supervisor.report.unsettled == 0)
        gate.open()
    }

    @Test func removingAnUnknownOrRemovedSourceReturnsFalse() async throws {
        let supervisor = Supervisor.make()
        let gate = Gate()
        try supervisor.register(
            Registration("work", as: Empty.self, from: .source("push")) { _, _ in await gate.pass() }
        )
        let intake = try supervisor.intake(for: "push", window: WindowLimits(arrivals: 1))
        let sink = RecordingSink()
        try await supervisor.whileRunning {
            #expect(await !supervisor.remove(source: "chat"))
            #expect(intake.submit(arrivals([message("work")]), to: sink) == 1)
            async let isRemoved = supervisor.remove(source: "push")
            await #expect(throws: SourceClosed.self) { try await intake.room() }
            #expect(await !supervisor.remove(source: "push"))
            #expect(throws: RegistrationError.duplicateSource("push")) { try supervisor.intake(for: "push") }
            gate.open()
            #expect(await isRemoved)
        }
        #expect(await supervisor.remove(source: "push") == false)
    }

    @Test func aSourceRemovedBeforeTheRunIsNotStarted() async throws {
        let supervisor = Supervisor.make()
        try supervisor.register(Registration("work", as: Empty.self, from: .source("push")) { _, _ in })
        let first = InMemoryAdapter(source: "push", features: .redelivers)
        try supervisor.add(first)
        #expect(await supervisor.remove(source: "push"))
        let second = InMemoryAdapter(source: "push")
        try supervisor.add(second)
        try await supervisor.whileRunning {
            #expect(await second.send("work") == .handled(reply: nil))
        }
        #expect(first.acknowledged.isEmpty)
    }

    @Test func theLastSourceCanBeRemovedAndReplaced() async throws {
        let supervisor = Supervisor.make()
        try supervisor.register(Registration("work", as: Empty.self, from: .source("push")) { _, _ in })
        let adapter = InMemoryAdapter(source: "push", features: .redelivers)
        try supervisor.add(adapter)
        try await supervisor.whileRunning {
            for _ in 0..<50 {
                #expect(await adapter.send("work") == .handled(reply: nil))
                #expect(await supervisor.remove(source: "push"))
                try supervisor.add(adapter)
            }
        }
        #expect(supervisor.report.total == OutcomeCounts(handled: 50))
    }

    /// Without `whileSourcesChange`, the run would end with its last adapter before the next one is added.
    @Test func theLastAdapterMayEndDuringASourceChange() async throws {
        let supervisor = Supervisor.make()
        try supervisor.register(Registration("work", as: Empty.self, from: .source("push")) { _, _ in })
        let (push, brief) = (InMemoryAdapter(source: "push"), BriefAdapter())
        try supervisor.add(push)
        try supervisor.add(brief)
        try await supervisor.whileRunning {
            #expect(await push.send("work") == .handled(reply: nil))
            try await supervisor.whileSourcesChange {
                #expect(await supervisor.remove(source: "push"))
                brief.end.open()
                #expect(await supervisor.remove(source: "brief"))
                try supervisor.add(push)
            }
            #expect(!supervisor.isEnding)
            #expect(await push.send("work") == .handled(reply: nil))
        }
        #expect(supervisor.isEnding)
    }

    @Test func removingTheLastSourceAfterASourceChangeKeepsTheRunAlive() async throws {
        let supervisor = Supervisor.make()
        try supervisor.register(Registration("work", as: Empty.self, from: .source("push")) { _, _ in })
        let push = InMemoryAdapter(source: "push")
        try supervisor.add(push)
        try await supervisor.whileRunning {
            await supervisor.whileSourcesChange {}
            #expect(await push.send("work") == .handled(reply: nil))
            #expect(await supervisor.remove(source: "push"))
            #expect(!supervisor.isEnding)
            try supervisor.add(push)
            #expect(await push.send("work") == .handled(reply: nil))
        }
    }

    @Test func theRunEndsIfASourceChangeLeavesNoSource() async throws {
        let supervisor = Supervisor.make()
        try supervisor.add(InMemoryAdapter(source: "push"))
        async let run: Void = supervisor.run()
        await supervisor.whileSourcesChange { _ = await supervisor.remove(source: "push") }
        try await run
        #expect(supervisor.isEnding)
        #expect(throws: RegistrationError.closed) { try supervisor.add(InMemoryAdapter(source: "push")) }
    }

    @Test func cancellingTheRunEndsARemoval() async throws {
        let supervisor = Supervisor.make { $0.drainLimit = .seconds(3_600) }
        let gate = Gate()
        let options = PluginOptions<Empty>(timeout: .seconds(3_600))
        try supervisor.register(
            Registration("work", as: Empty.self, from: .source("push"), options: options) { _, _ in
                await gate.pass()
            }
        )
        let intake = try supervisor.intake(for: "push", window: WindowLimits(arrivals: 1))
        let sink = RecordingSink()
        let run = Task { try await supervisor.run() }
        #expect(intake.submit(arrivals([message("work")]), to: sink) == 1)
        await gate.untilArrived(1)
        async let isRemoved = supervisor.remove(source: "push")
        await #expect(throws: SourceClosed.self) { try await intake.room() }
        run.cancel()
        try await run.value
        #expect(await isRemoved)
        #expect(sink.outcomes[0]?.map(reason) == ["stop"])
        gate.open()
    }

    @Test func removedSourcesLeaveNoGroupsInTheLanes() async throws {
        let supervisor = Supervisor.make()
        let anybody = AccessRule("anybody") { _ in true }
        try supervisor.register(Registration("work", as: Empty.self, from: anybody) { _, _ in })
        try await supervisor.whileRunning {
            for number in 0..<20 {
                let source = try SourceName("chat-\(number)")
                let intake = try supervisor.intake(for: source)
                let outcomes = await intake.deliver(arrivals(from: source, [message("work")]))
                #expect(outcomes == [.handled(reply: nil)])
                #expect(await supervisor.remove(source: source))
            }
            let groups = supervisor.lanes.all.map { lane in lane.state.withLock { $0.groups.all.count } }
            #expect(groups.count == 1 && groups.allSatisfy { $0 < 3 })
        }
    }
}

private struct RetryableFault: RetryableError {}

/// An adapter that ends when its gate opens.
private struct BriefAdapter: Adapter {
    let end = Gate()
    var source: SourceName { "brief" }
    var features: AdapterFeatures { [] }

    func run(into intake: any Intake) async { await end.pass() }
}
