import Foundation
import Logging
import MQTTPush
import Signalbox
import SignalboxCore
import SignalboxRoutes

/// The adapter as it is shipped, with an intake that only counts or with a supervisor and a plugin.
struct AdapterRun {
    let options: Options
    let meter: Meter

    func withoutSupervisor() async throws {
        let adapter = try makeAdapter()
        let run = Task { try await adapter.run(into: CountingIntake(meter: meter)) }
        await meter.untilDone()
        run.cancel()
        try await run.value
    }

    func typedPlugin() async throws {
        try await supervised { supervisor in
            try supervisor.register("payment", as: Payment.self, from: .source("push")) { payment, _ in
                precondition(payment.amount > 0, "the payment came wrong")
                _ = meter.count()
            }
        }
    }

    func timedPlugin() async throws {
        let latencies = Latencies(expected: meter.expected)
        try await supervised { supervisor in
            try supervisor.register("payment", as: Payment.self, from: .source("push")) { payment, _ in
                latencies.note(since: payment.amount)
                _ = meter.count()
            }
        }
        latencies.show()
    }

    func committingPlugin() async throws {
        let plugin = CommitPlugin(action: "payment", meter: meter)
        try await supervised { supervisor in
            try supervisor.register(plugin, from: .source("push"))
        }
        plugin.show()
    }

    private func supervised(_ register: (Supervisor) throws -> Void) async throws {
        let supervisor = Supervisor(logger: quiet)
        try supervisor.add(makeAdapter(), repeats: options.repeats)
        try register(supervisor)
        let run = Task { try await supervisor.run() }
        await meter.untilDone()
        run.cancel()
        try await run.value
    }

    private func makeAdapter() throws -> MQTTPushAdapter {
        let broker = try MQTTBroker(host: "127.0.0.1", port: options.port, usesTLS: options.authority != nil)
        var topic = MQTTTopic(try TopicPattern(options.topic))
        topic.quality = options.quality
        var configuration = MQTTPushConfiguration.withoutSession(source: "push", broker: broker, topics: [topic])
        if let file = options.authority { configuration.security = .tls(.authority(file: file)) }
        if let batch = options.batch {
            configuration.receiveMaximum = max(batch, configuration.receiveMaximum)
            configuration.batchMessages = batch
        }
        let logger = Logger(label: "benchmark") { _ in ReadyHandler() }
        return try MQTTPushAdapter(configuration, logger: logger)
    }

    private var quiet: Logger { Logger(label: "benchmark") { _ in SwiftLogNoOpLogHandler() } }
}
