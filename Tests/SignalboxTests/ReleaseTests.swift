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

    /// The plugin is removed while its next attempt waits, and the attempt is let go of: by the removal of the source, or
    /// by the drain.
    private func removeWhileItWaits(_ witness: Witness, alsoItsSource: Bool) async throws {
        let clock = ManualClock()
        let supervisor = Supervisor.make(clock: clock) { $0.drainLimit = .milliseconds(100) }
        let retry = RetryPolicy(attempts: 2, firstDelay: .seconds(3_600), longestDelay: .seconds(3_600))
        let called = Watched(false)
        try supervisor.register("work", as: Empty.self, from: .source("push"), options: PluginOptions(retry: retry)) {
            _,
            _ in
            withExtendedLifetime(witness) {}
            called.change { $0 = true }
            throw RetryTests.Refused()
        }
        let intake = try supervisor.intake(for: "push")
        let sink = RecordingSink()
        try await clock.tick {
            try await supervisor.whileRunning {
                #expect(intake.submit(arrivals([message("work")]), to: sink) == 1)
                await called.untilUncancelled { $0 }
                try supervisor.remove("work")
                if alsoItsSource { #expect(await supervisor.remove(source: "push")) }
            }
        }
        #expect(sink.outcomes[0]?.map(reason) == ["drain"])
    }

    @Test(.timeLimit(.minutes(10)), arguments: [true, false])
    func aPluginRemovedWhileItsNextAttemptWaitedIsReleased(alsoItsSource: Bool) async throws {
        let (released, continuation) = AsyncStream.makeStream(of: Never.self)
        try await removeWhileItWaits(Witness(continuation), alsoItsSource: alsoItsSource)
        for await _ in released {}
    }
}
