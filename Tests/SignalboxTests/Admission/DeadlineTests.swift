import Signalbox
import SignalboxCore
import SignalboxTesting
import Synchronization
import Testing

@Suite struct DeadlineTests {
    private static func batch(_ deadlines: [ContinuousClock.Instant?]) -> [Arrival] {
        var batch = ArrivalBatch(pool: ArrivalPool())
        let origin = Origin(source: "push", facts: TestFacts())
        for (position, deadline) in deadlines.enumerated() {
            Array(message("work", body: "\(position)").utf8).withUnsafeBytes { bytes in
                batch.append(
                    bytes,
                    token: UInt64(position),
                    origin: origin,
                    receivedAt: WallTime(seconds: 0),
                    deadline: deadline
                )
            }
        }
        return batch.take()
    }

    @Test func whatIsTooLateIsRejectedBeforeItWaitsAndTheRestGoesOnInOrder() async throws {
        let supervisor = Supervisor.make()
        let (gate, sink) = (Gate(), RecordingSink())
        let seen = Mutex<[Int]>([])
        try supervisor.register("work", as: Int.self, from: .source("push")) { number, _ in
            seen.withLock { $0.append(number) }
            await gate.pass()
        }
        let intake = try supervisor.intake(for: "push")
        let (late, early) = (ContinuousClock.now - .seconds(1), ContinuousClock.now + .seconds(3_600))
        try await supervisor.whileRunning {
            #expect(intake.submit(Self.batch([nil, late, early, late, nil]), to: sink) == 5)
            // The lane has not got to them: they were not admitted.
            #expect(sink.outcomes.mapValues { $0.map(reason) } == [1: ["expired"], 3: ["expired"]])
            gate.open()
            await sink.untilSettled(5)
        }
        #expect(seen.withLock { $0 } == [0, 2, 4])
        #expect(supervisor.deadLetters.total == 2)
    }
}
