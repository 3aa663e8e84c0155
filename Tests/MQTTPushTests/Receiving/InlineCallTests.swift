import BrokerKit
import Logging
import MQTTPush
import Signalbox
import SignalboxCore
import SignalboxTesting
import TestSupport
import Testing

/// A plugin runs on the connection's thread.
@Suite(.timeLimit(.minutes(10))) struct InlineCallTests {
    @Test func aRunEndsThoughThePluginHangs() async throws {
        try await Broker.with { broker in
            let clock = ManualClock()
            let gate = BlockingGate()
            let log = EventList<String>()
            var limits = SupervisorConfiguration()
            limits.drainLimit = .seconds(1)
            let logger = Logger(label: "push") { _ in RecordingLog(log) }
            let supervisor = Supervisor(configuration: limits, logger: logger, clock: clock)
            let configuration = try MQTTPushConfiguration.test(broker, [try MQTTTopic("push/{action}")])
            try supervisor.add(try MQTTPushAdapter(configuration, logger: logger))
            let options = PluginOptions<Int>(runsInline: true)
            try supervisor.register(
                Registration("work", as: Int.self, from: .source("push"), options: options) { number, _ in
                    if number == 1 { gate.pass() }
                }
            )
            let run = Task { try await supervisor.run() }
            _ = await log.line(containing: "subscribed to")
            try await broker.publish("0", to: "push/work")
            try await broker.publish("1", to: "push/work")
            await gate.untilEntered(1)
            supervisor.shutDown()
            try await clock.tick { try await run.value }
            // The lane's own task would not be too slow.
            _ = await log.line(containing: "too slow for its source's thread")
            #expect(supervisor.report.callsStillRunning == ["push/work"])
            #expect(supervisor.report.total.handled == 1)
            gate.open()
            // The thread ends by itself, and disconnects.
            _ = await log.line(containing: "disconnected from broker")
        }
    }
}
