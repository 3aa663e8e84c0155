import Signalbox
import SignalboxCore
import SignalboxTesting
import Synchronization
import Testing

@Suite struct BatchPluginTests {
    @Test func theActionsOfABatchAreHandledInOneCallInOrder() async throws {
        let supervisor = Supervisor.make()
        let plugin = CollectingPlugin()
        try supervisor.register(plugin, from: .source("push"))
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning {
            let messages = ["1", "2", "true", "3"].map { message("collect", body: $0) }
            let outcomes = await intake.deliver(arrivals(messages))
            #expect(outcomes.map(reason) == ["handled", "handled", "invalidBody", "handled"])
        }
        #expect(plugin.calls.withLock { $0 } == [[1, 2, 3]])
    }

    @Test func actionsForAnotherPluginInBetweenDoNotBreakUpTheCall() async throws {
        let supervisor = Supervisor.make()
        let plugin = CollectingPlugin()
        try supervisor.register(plugin, from: .source("push"))
        try supervisor.register("other", as: Empty.self, from: .source("push")) { _, _ in }
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning {
            let messages = (0..<20).map { number in
                number % 2 == 0 ? message("collect", body: "\(number)") : message("other")
            }
            let outcomes = await intake.deliver(arrivals(messages))
            #expect(outcomes.allSatisfy { $0 == .handled(reply: nil) })
        }
        #expect(plugin.calls.withLock { $0 } == [Array(stride(from: 0, to: 20, by: 2))])
    }

    @Test func whatTheCallThrowsFailsAllButTheRejected() async throws {
        let supervisor = Supervisor.make()
        let plugin = CollectingPlugin(failure: Broken())
        try supervisor.register(plugin, from: .source("push"))
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning {
            let outcomes = await intake.deliver(arrivals(["1", "{}"].map { message("collect", body: $0) }))
            #expect(outcomes.map(reason) == ["threw", "invalidBody"])
        }
    }

    @Test func anOverdueCallFailsTheWholeBatchAndWhatWaitsIsUnavailable() async throws {
        let clock = ManualClock()
        let supervisor = Supervisor.make(clock: clock) { $0.timeout = .milliseconds(200) }
        let gate = Gate()
        try supervisor.register(CollectingPlugin(gate: gate), from: .source("push"))
        let intake = try supervisor.intake(for: "push", features: .redelivers)
        let sink = RecordingSink()
        try await supervisor.whileRunning {
            #expect(intake.submit(arrivals(["1", "2"].map { message("collect", body: $0) }), to: sink) == 2)
            await gate.untilArrived(1)
            #expect(intake.submit(arrivals(firstToken: 2, [message("collect", body: "3")]), to: sink) == 1)
            await clock.tick(3)
            let reasons = (0..<3).map { sink.outcomes[$0]?.map(reason) }
            #expect(reasons == [["timeout"], ["timeout"], ["unavailable"]])
        }
        gate.open()
    }
}

/// Keeps what it is called with, behind a gate where there is one.
final class CollectingPlugin: BatchPlugin {
    let action: ActionName = "collect"
    let calls = Mutex<[[Int]]>([])
    private let gate: Gate?
    private let failure: (any Error)?

    init(gate: Gate? = nil, failure: (any Error)? = nil) {
        self.gate = gate
        self.failure = failure
    }

    func callAsActions(_ batch: [(info: Int, context: ActionContext)]) async throws {
        await gate?.pass()
        if let failure { throw failure }
        calls.withLock { $0.append(batch.map(\.info)) }
    }
}
