import Dispatch
import Foundation
import Signalbox
import SignalboxCore
import SignalboxTesting
import Synchronization
import Testing

@Suite struct BlockedPoolTests {
    /// Lets the plugins go on as soon as it hears that the first was given up.
    private final class Rescuer: SettlementSink {
        let heard = Mutex<[String]>([])
        let gate = DispatchSemaphore(value: 0)
        let count: Int

        init(count: Int) { self.count = count }

        func mayAcknowledge(_ token: UInt64) {}

        func settle(_ token: UInt64, _ outcome: Outcome) {
            heard.withLock { $0.append(reason(outcome)) }
            for _ in 0..<count { gate.signal() }
        }
    }

    /// More plugins than the pool has threads block: the timer has its own.
    @Test func pluginsThatBlockEveryThreadAreOverdueAllTheSame() async throws {
        let count = ProcessInfo.processInfo.activeProcessorCount + 1
        let supervisor = Supervisor.make { configuration in
            configuration.timeout = .milliseconds(20)
            configuration.tick = .milliseconds(10)
        }
        let rescuer = Rescuer(count: count)
        let given = Atomic(0)
        for number in 0..<count {
            let action = try ActionName("block\(number)")
            try supervisor.register(action, as: Empty.self, from: .source("push")) { _, _ in
                // Bounded, so that a timer that stands still fails this test alone.
                if rescuer.gate.wait(timeout: .now() + 30) == .timedOut { given.wrappingAdd(1, ordering: .relaxed) }
            }
        }
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning {
            let messages = (0..<count).map { message("block\($0)") }
            #expect(intake.submit(arrivals(messages), to: rescuer) == count)
        }
        #expect(rescuer.heard.withLock { $0.contains("timeout") })
        #expect(given.load(ordering: .relaxed) == 0)
    }
}
