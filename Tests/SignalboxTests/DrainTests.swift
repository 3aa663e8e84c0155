import Logging
import ServiceLifecycle
import Signalbox
import SignalboxCore
import SignalboxTesting
import Synchronization
import Testing

@Suite struct DrainTests {
    @Test func aDrainHandlesRunningAndWaitingArrivals() async throws {
        let supervisor = Supervisor.make()
        let gate = Gate()
        try supervisor.register(
            Registration("work", as: Empty.self, from: .source("push")) { _, _ in await gate.pass() }
        )
        let intake = try supervisor.intake(for: "push", window: WindowLimits(arrivals: 2))
        let sink = RecordingSink()
        let group = ServiceGroup(services: [supervisor], logger: Supervisor.quiet)
        async let run: Void = group.run()
        #expect(intake.submit(arrivals([message("work"), message("work")]), to: sink) == 2)
        await gate.untilArrived(1)
        await group.triggerGracefulShutdown()
        await #expect(throws: SourceClosed.self) { try await intake.room() }
        gate.open()
        try await run
        #expect(sink.outcomes.values.allSatisfy { $0 == [.handled(reply: nil)] })
        #expect(sink.acknowledged == [0, 1])
        #expect(supervisor.report.isClean)
    }

    @Test func theDrainLimitAbandonsUnsettledArrivals() async throws {
        let clock = ManualClock()
        let supervisor = Supervisor.make(clock: clock) { configuration in
            configuration.timeout = .seconds(60)
            configuration.drainLimit = .seconds(1)
        }
        let gate = Gate()
        try supervisor.register(
            Registration("work", as: Empty.self, from: .source("push")) { _, _ in await gate.pass() }
        )
        let intake = try supervisor.intake(for: "push", window: WindowLimits(arrivals: 2))
        let sink = RecordingSink()
        let group = ServiceGroup(services: [supervisor], logger: Supervisor.quiet)
        async let run: Void = group.run()
        #expect(intake.submit(arrivals([message("work"), message("work")]), to: sink) == 2)
        await gate.untilArrived(1)
        await group.triggerGracefulShutdown()
        await #expect(throws: SourceClosed.self) { try await intake.room() }
        await clock.tick(10)
        try await run
        #expect(sink.outcomes[0]?.map(reason) == ["drain"])
        #expect(sink.outcomes[1]?.map(reason) == ["drain"])
        #expect(sink.acknowledged.isEmpty)
        #expect(supervisor.report.total.abandoned == 2)
        #expect(supervisor.report.callsStillRunning == ["push/work"])
        gate.open()
    }

    @Test func cancellingTheRunAbandonsImmediately() async throws {
        let supervisor = Supervisor.make()
        let gate = Gate()
        try supervisor.register(
            Registration("work", as: Empty.self, from: .source("push")) { _, _ in await gate.pass() }
        )
        let intake = try supervisor.intake(for: "push")
        let sink = RecordingSink()
        let run = Task { try await supervisor.run() }
        #expect(intake.submit(arrivals([message("work"), message("work")]), to: sink) == 2)
        await gate.untilArrived(1)
        run.cancel()
        try await run.value
        #expect(sink.outcomes.values.map { $0.map(reason) } == [["stop"], ["stop"]])
        #expect(sink.acknowledged.isEmpty)
        gate.open()
    }

    @Test func cancellingADrainEndsIt() async throws {
        let supervisor = Supervisor.make { $0.drainLimit = .seconds(3_600) }
        let gate = Gate()
        try supervisor.register(
            Registration(
                "work",
                as: Empty.self,
                from: .source("push"),
                options: PluginOptions(timeout: .seconds(3_600))
            ) { _, _ in
                await gate.pass()
            }
        )
        let intake = try supervisor.intake(for: "push", window: WindowLimits(arrivals: 2))
        let sink = RecordingSink()
        let group = ServiceGroup(services: [supervisor], logger: Supervisor.quiet)
        let run = Task { try await group.run() }
        #expect(intake.submit(arrivals([message("work"), message("work")]), to: sink) == 2)
        await gate.untilArrived(1)
        await group.triggerGracefulShutdown()
        await #expect(throws: SourceClosed.self) { try await intake.room() }
        run.cancel()
        _ = try? await run.value
        await sink.untilSettled(2)
        #expect(sink.outcomes.values.map { $0.map(reason) } == [["stop"], ["stop"]])
        gate.open()
    }

    @Test func arrivalsThatReachedNoLaneAreAbandonedOnClose() async throws {
        let supervisor = Supervisor.make()
        let intake = try supervisor.intake(for: "push")
        let sink = RecordingSink()
        #expect(intake.submit(arrivals([message("work")]), to: sink) == 1)
        let run = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await supervisor.run()
        }
        try await run.value
        #expect(sink.outcomes[0]?.map(reason) == ["drain"])
        #expect(sink.acknowledged.isEmpty)
        #expect(supervisor.report.unsettled == 0)
    }

    @Test func adaptersRunUntilADrainCancelsThem() async throws {
        let supervisor = Supervisor.make()
        try supervisor.register(Registration("tick", as: Empty.self, from: .source("one")) { _, _ in })
        let adapter = OneShotAdapter(source: "one", failure: nil)
        try supervisor.add(adapter)
        try await supervisor.whileRunning { await adapter.sink.untilSettled(1) }
        let wasCancelled = adapter.wasCancelled.load(ordering: .sequentiallyConsistent)
        #expect(wasCancelled)
        #expect(adapter.sink.outcomes[0] == [.handled(reply: nil)])
    }

    @Test func aFailedAdapterStopsNoOtherAndRunThrowsItsError() async throws {
        let supervisor = Supervisor.make()
        try supervisor.register(Registration("tick", as: Empty.self, from: .source("good")) { _, _ in })
        let good = OneShotAdapter(source: "good", failure: nil)
        try supervisor.add(OneShotAdapter(source: "bad", failure: Broken()))
        try supervisor.add(good)
        await #expect(throws: Broken.self) {
            try await supervisor.whileRunning { await good.sink.untilSettled(1) }
        }
        #expect(good.sink.outcomes[0] == [.handled(reply: nil)])
    }

    @Test func theRunEndsWithItsLastAdapter() async throws {
        let supervisor = Supervisor.make()
        try supervisor.add(OneShotAdapter(source: "bad", failure: Broken()))
        await #expect(throws: Broken.self) { try await supervisor.run() }
        await #expect(throws: RegistrationError.closed) { try await supervisor.run() }
    }
}

/// Sources whose messages come from plugins.
@Suite(.timeLimit(.minutes(10))) struct PluginFedDrainTests {
    /// Submits what plugins give it while it runs.
    private final class FedAdapter: PluginFedAdapter {
        let source: SourceName = "fed"
        let features: AdapterFeatures = []
        let sink = RecordingSink()
        private let intake = Mutex<(any Intake)?>(nil)
        private let running = Gate()

        /// Submits an arrival of the action `told`.
        ///
        /// - Returns: The number of arrivals that were taken.
        func submit() async -> Int {
            await running.pass()
            return intake.withLock { $0 }?.submit(arrivals(from: source, [message("told")]), to: sink) ?? 0
        }

        func run(into intake: any Intake) async {
            self.intake.withLock { $0 = intake }
            running.open()
            let (stream, continuation) = AsyncStream.makeStream(of: Never.self)
            for await _ in stream {}
            continuation.finish()
        }
    }

    @Test func aDrainTakesWhatThePluginsOfOtherSourcesStillSend() async throws {
        let supervisor = Supervisor.make()
        let (fed, gate) = (FedAdapter(), Gate())
        let taken = Mutex<[Int]>([])
        try supervisor.register(
            Registration("work", as: Empty.self, from: .source("push")) { _, _ in
                await gate.pass()
                let count = await fed.submit()
                taken.withLock { $0.append(count) }
            }
        )
        try supervisor.register(Registration("told", as: Empty.self, from: .source("fed")) { _, _ in })
        let intake = try supervisor.intake(for: "push", window: WindowLimits(arrivals: 1))
        let sink = RecordingSink()
        try supervisor.add(fed)
        let group = ServiceGroup(services: [supervisor], logger: Supervisor.quiet)
        async let run: Void = group.run()
        #expect(intake.submit(arrivals([message("work")]), to: sink) == 1)
        await gate.untilArrived(1)
        await group.triggerGracefulShutdown()
        await #expect(throws: SourceClosed.self) { try await intake.room() }
        gate.open()
        try await run
        #expect(taken.withLock { $0 } == [1])
        #expect(fed.sink.outcomes[0] == [.handled(reply: nil)])
        #expect(await fed.submit() == 0)
        #expect(supervisor.report.isClean)
    }

    @Test func aRunDoesNotGoOnForThemAlone() async throws {
        let supervisor = Supervisor.make()
        try supervisor.add(FedAdapter())
        try supervisor.add(EndedAdapter())
        try await supervisor.run()
        #expect(supervisor.report.isClean)
    }

    private struct EndedAdapter: Adapter {
        let source: SourceName = "ended"
        let features: AdapterFeatures = []

        func run(into intake: any Intake) async {}
    }
}

/// An adapter that submits one arrival and waits for its cancellation, or throws `failure` at once.
final class OneShotAdapter: Adapter {
    let source: SourceName
    let features: AdapterFeatures = []
    let sink = RecordingSink()
    let wasCancelled = Atomic(false)
    private let failure: Broken?

    init(source: SourceName, failure: Broken?) {
        self.source = source
        self.failure = failure
    }

    func run(into intake: any Intake) async throws {
        if let failure { throw failure }
        _ = intake.submit(arrivals(from: source, [message("tick")]), to: sink)
        let (stream, continuation) = AsyncStream.makeStream(of: Never.self)
        for await _ in stream {}
        continuation.finish()
        wasCancelled.store(Task.isCancelled, ordering: .sequentiallyConsistent)
    }
}

@Suite struct ReleaseTests {
    /// An object whose deallocation finishes a stream.
    private final class Witness: Sendable {
        private let released: AsyncStream<Never>.Continuation

        init(_ released: AsyncStream<Never>.Continuation) { self.released = released }

        deinit { released.finish() }
    }

    /// Runs a supervisor once. The lane retains the plugin, and the plugin retains the witness.
    private func runOnce(_ witness: Witness) async throws {
        let supervisor = Supervisor.make()
        try supervisor.register(
            Registration("work", as: Empty.self, from: .source("push")) { _, _ in
                withExtendedLifetime(witness) {}
            }
        )
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning {
            #expect(await intake.deliver(arrivals([message("work")])) == [.handled(reply: nil)])
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func aStoppedSupervisorReleasesItsLanes() async throws {
        let (released, continuation) = AsyncStream.makeStream(of: Never.self)
        try await runOnce(Witness(continuation))
        for await _ in released {}
    }

    /// A change made while the plugin's next attempt is pending, before the drain abandons that attempt.
    enum Change: Sendable, CaseIterable { case removed, removedWithItsSource, replaced }

    private func apply(_ change: Change, retaining witness: Witness) async throws {
        let clock = ManualClock()
        let supervisor = Supervisor.make(clock: clock) { $0.drainLimit = .milliseconds(100) }
        let retry = RetryPolicy(attempts: 2, firstDelay: .seconds(3_600), longestDelay: .seconds(3_600))
        let options = PluginOptions<Empty>(retry: retry)
        let called = Watched(false)
        let register = { (isReplacing: Bool) in
            try supervisor.register(
                Registration("work", as: Empty.self, from: .source("push"), options: options) { _, _ in
                    withExtendedLifetime(witness) {}
                    called.change { $0 = true }
                    throw RetryTests.Refused()
                },
                replacing: isReplacing
            )
        }
        try register(false)
        let intake = try supervisor.intake(for: "push")
        let sink = RecordingSink()
        try await clock.tick {
            try await supervisor.whileRunning {
                #expect(intake.submit(arrivals([message("work")]), to: sink) == 1)
                await called.untilUncancelled { $0 }
                switch change {
                case .removed: try supervisor.remove("work")
                case .removedWithItsSource:
                    try supervisor.remove("work")
                    #expect(await supervisor.remove(source: "push"))
                case .replaced:
                    try register(true)
                    #expect(intake.submit(arrivals(firstToken: 1, [message("work")]), to: sink) == 1)
                }
            }
        }
        #expect(sink.outcomes.values.allSatisfy { $0.map(reason) == ["drain"] })
    }

    @Test(.timeLimit(.minutes(10)), arguments: Change.allCases)
    func aPluginChangedBeforeItsNextAttemptIsReleased(_ change: Change) async throws {
        let (released, continuation) = AsyncStream.makeStream(of: Never.self)
        try await apply(change, retaining: Witness(continuation))
        for await _ in released {}
    }
}
