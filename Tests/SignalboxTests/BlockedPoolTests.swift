import Dispatch
import Foundation
import Signalbox
import SignalboxCore
import Testing

/// In a process of its own, as it takes every thread that tests run on.
@Suite struct BlockedPoolTests {
    /// Ends the process as soon as it hears that a call was given up.
    private final class Witness: SettlementSink {
        func mayAcknowledge(_ token: UInt64) {}

        func settle(_ token: UInt64, _ outcome: Outcome) {
            exit(reason(outcome) == "timeout" ? EXIT_SUCCESS : EXIT_FAILURE)
        }
    }

    /// More plugins than the pool has threads block: the timer has its own.
    @Test func pluginsThatBlockEveryThreadAreOverdueAllTheSame() async {
        await #expect(processExitsWith: .success) {
            let count = ProcessInfo.processInfo.activeProcessorCount + 1
            let supervisor = Supervisor.make { $0.timeout = .milliseconds(200) }
            for number in 0..<count {
                let action = try ActionName("block\(number)")
                try supervisor.register(action, as: Empty.self, from: .source("push")) { _, _ in
                    // Bounded, so that a timer that stands still fails this test alone.
                    _ = DispatchSemaphore(value: 0).wait(timeout: .now() + 30)
                    exit(EXIT_FAILURE)
                }
            }
            let intake = try supervisor.intake(for: "push")
            let messages = (0..<count).map { message("block\($0)") }
            #expect(intake.submit(arrivals(messages), to: Witness()) == count)
            try await supervisor.run()
        }
    }
}
