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
}
