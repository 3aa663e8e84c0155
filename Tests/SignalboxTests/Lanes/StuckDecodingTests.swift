import Dispatch
import Foundation
import Signalbox
import SignalboxCore
import SignalboxTesting
import TestSupport
import Testing

/// A lane with keys decodes each body to determine its ordering group. Decoding runs application code, which may hang.
@Suite struct StuckDecodingTests {
    private struct Order: Decodable, Sendable {
        static let reached = Gate(isOpen: true)
        static let resumption = DispatchSemaphore(value: 0)
        let customer: String

        init(from decoder: any Decoder) throws {
            customer = try decoder.singleValueContainer().decode(String.self)
            guard customer == "stuck" else { return }
            Task { await Order.reached.pass() }
            // Bounded, so that a lane that never resumes fails only this test.
            _ = Order.resumption.wait(timeout: .now() + 600)
        }
    }

    private static func orders(_ customers: String...) -> [String] {
        customers.map { message("order", body: "\"\($0)\"") }
    }

    @Test func hungDecodingTimesOutLikeACall() async throws {
        let clock = ManualClock()
        var configuration = SupervisorConfiguration()
        configuration.timeout = .seconds(1)
        let supervisor = Supervisor(
            configuration: configuration,
            logger: Supervisor.quiet,
            clock: clock,
            simulation: SimulationEnvironment(executor: QueueExecutor(), random: SeededGenerator(seed: 1))
        )
        let options = PluginOptions<Order>(order: .key(\.customer), maxConcurrent: 2)
        let rule = AccessRule.any([.source("push"), .source("page")])
        try supervisor.register(Registration("order", as: Order.self, from: rule, options: options) { _, _ in })
        let (push, page) = (try supervisor.intake(for: "push"), try supervisor.intake(for: "page"))
        let sink = RecordingSink()
        try await supervisor.whileRunning {
            #expect(push.submit(arrivals(Self.orders("a", "stuck", "b")), to: sink) == 3)
            await Order.reached.untilArrived(1)
            await clock.tick(12)
            #expect(sink.outcomes[0]?.map(reason) == ["handled"])
            #expect(sink.outcomes[1]?.map(reason) == ["timeout"])
            #expect(sink.outcomes[2]?.map(reason) == ["unavailable"])
            #expect(
                supervisor.deadLetters.letters.allSatisfy { $0.attempts == 0 },
                "decoding for a key is not an attempt"
            )
            #expect(await push.deliver(arrivals(Self.orders("c"))).map(reason) == ["unavailable"])
            #expect(await page.deliver(arrivals(from: "page", Self.orders("d"))).map(reason) == ["handled"])
            Order.resumption.signal()
            var outcomes: [Outcome] = []
            repeat {
                await Task.yield()
                outcomes = await push.deliver(arrivals(Self.orders("e")))
            } while outcomes.map(reason) == ["unavailable"]
            #expect(outcomes.map(reason) == ["handled"])
        }
        #expect(supervisor.report.total.lateReturns == 1)
        #expect(supervisor.report.isClean == true)
    }
}

/// Runs in a separate process, because it blocks every thread that tests use.
@Suite struct BlockedPoolTests {
    /// A sink that ends the process at the first outcome, with success if that is a timeout.
    private final class Witness: SettlementSink {
        func mayAcknowledge(_ token: UInt64) {}

        func settle(_ token: UInt64, _ outcome: Outcome) {
            exit(reason(outcome) == "timeout" ? EXIT_SUCCESS : EXIT_FAILURE)
        }
    }

    /// More plugins block than the pool has threads. The timer has its own thread.
    @Test func pluginsThatBlockEveryThreadStillTimeOut() async {
        await #expect(processExitsWith: .success) {
            let count = ProcessInfo.processInfo.activeProcessorCount + 1
            let supervisor = Supervisor.make { $0.timeout = .milliseconds(200) }
            for number in 0..<count {
                let action = try ActionName("block\(number)")
                try supervisor.register(
                    Registration(action, as: Empty.self, from: .source("push")) { _, _ in
                        // Bounded, so that a timer that stops fails only this test.
                        _ = DispatchSemaphore(value: 0).wait(timeout: .now() + 30)
                        exit(EXIT_FAILURE)
                    }
                )
            }
            let intake = try supervisor.intake(for: "push")
            let messages = (0..<count).map { message("block\($0)") }
            #expect(intake.submit(arrivals(messages), to: Witness()) == count)
            try await supervisor.run()
        }
    }
}

/// An executor that gives a blocking plugin's lane its own threads, so that other tests keep theirs.
final class QueueExecutor: TaskExecutor {
    private let queue = DispatchQueue(label: "test", attributes: .concurrent)

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let executor = asUnownedTaskExecutor()
        queue.async { job.runSynchronously(on: executor) }
    }
}
