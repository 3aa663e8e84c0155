import Signalbox
import SignalboxCore
import SignalboxTesting
import Testing

@Suite struct ReleaseTests {
    /// Tells when nobody holds it any more.
    private final class Witness: Sendable {
        private let released: AsyncStream<Never>.Continuation

        init(_ released: AsyncStream<Never>.Continuation) { self.released = released }

        deinit { released.finish() }
    }

    /// The witness is held by the plugin, the plugin by its lane.
    private func runOnce(_ witness: Witness) async throws {
        let supervisor = Supervisor.make()
        try supervisor.register("work", as: Empty.self, from: .source("push")) { _, _ in
            withExtendedLifetime(witness) {}
        }
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning {
            #expect(await intake.deliver(arrivals([message("work")])) == [.handled(reply: nil)])
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func aSupervisorThatHasStoppedIsReleasedWithItsLanes() async throws {
        let (released, continuation) = AsyncStream.makeStream(of: Never.self)
        try await runOnce(Witness(continuation))
        for await _ in released {}
    }

    /// What happens while the plugin's next attempt waits, before the drain lets go of it.
    enum Change: Sendable, CaseIterable { case removed, removedWithItsSource, replaced }

    private func change(_ change: Change, whileItWaits witness: Witness) async throws {
        let clock = ManualClock()
        let supervisor = Supervisor.make(clock: clock) { $0.drainLimit = .milliseconds(100) }
        let retry = RetryPolicy(attempts: 2, firstDelay: .seconds(3_600), longestDelay: .seconds(3_600))
        let called = Watched(false)
        let register = { (isReplacing: Bool) in
            try supervisor.register(
                "work",
                as: Empty.self,
                from: .source("push"),
                options: PluginOptions(retry: retry),
                replacing: isReplacing
            ) { _, _ in
                withExtendedLifetime(witness) {}
                called.change { $0 = true }
                throw RetryTests.Refused()
            }
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
    func aPluginChangedWhileItsNextAttemptWaitedIsReleased(_ change: Change) async throws {
        let (released, continuation) = AsyncStream.makeStream(of: Never.self)
        try await self.change(change, whileItWaits: Witness(continuation))
        for await _ in released {}
    }
}
