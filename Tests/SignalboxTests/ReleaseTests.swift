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

    /// A removed plugin, one of whose actions waits for its next attempt when the supervisor ends.
    private func failOnce(_ witness: Witness) async throws {
        let clock = ManualClock()
        let supervisor = Supervisor.make(clock: clock) { $0.drainLimit = .zero }
        let failed = Gate(isOpen: true)
        let patience = RetryPolicy(firstDelay: .seconds(1_000_000_000), longestDelay: .seconds(1_000_000_000))
        let options = PluginOptions<Empty>(retry: patience)
        try supervisor.register("work", as: Empty.self, from: .source("push"), options: options) { _, _ in
            withExtendedLifetime(witness) {}
            await failed.pass()
            throw Outcome.Failure(.threw, detail: "not now", isRetryable: true)
        }
        let intake = try supervisor.intake(for: "push")
        let sink = RecordingSink()
        try await clock.tick {
            try await supervisor.whileRunning {
                #expect(intake.submit(arrivals([message("work")]), to: sink) == 1)
                await failed.untilArrived(1)
                try supervisor.remove("work")
            }
        }
        #expect(sink.outcomes[0]?.map(reason) == ["drain"])
    }

    @Test(.timeLimit(.minutes(10)))
    func aRemovedPluginWhoseRetryIsAbandonedIsReleased() async throws {
        let (released, continuation) = AsyncStream.makeStream(of: Never.self)
        try await failOnce(Witness(continuation))
        for await _ in released {}
    }
}
