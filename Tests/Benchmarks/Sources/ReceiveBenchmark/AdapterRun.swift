import Dispatch
import Foundation
import Logging
import MQTTPush
import Signalbox
import SignalboxCore
import SignalboxRoutes
import SignalboxStore
import Synchronization

/// The adapter as shipped, either with an intake that only counts, or with a supervisor and a plugin.
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
            try supervisor.register(
                Registration("payment", as: Payment.self, from: .source("push"), options: plugin) { payment, _ in
                    precondition(payment.amount > 0, "invalid payment")
                    _ = meter.count()
                }
            )
        }
    }

    func timedPlugin() async throws {
        let latencies = Latencies(expected: meter.expected)
        try await supervised { supervisor in
            try supervisor.register(
                Registration("payment", as: Payment.self, from: .source("push"), options: plugin) { payment, _ in
                    latencies.note(since: payment.amount)
                    _ = meter.count()
                }
            )
        }
        latencies.show()
    }

    /// Each thousandth call takes 20 ms without blocking a thread. The latencies are those of the other calls.
    func slowPlugin() async throws {
        let latencies = Latencies(expected: meter.expected)
        let calls = CallCounter()
        try await supervised { supervisor in
            let options = PluginOptions<Payment>(order: .none, maxConcurrent: 8)
            try supervisor.register(
                Registration("payment", as: Payment.self, from: .source("push"), options: options) { payment, _ in
                    if calls.next() % 1_000 == 0 {
                        try await Task.sleep(for: .milliseconds(20))
                    } else {
                        latencies.note(since: payment.amount)
                    }
                    _ = meter.count()
                }
            )
        }
        latencies.show()
    }

    func committingPlugin() async throws {
        let plugin = CommitPlugin(action: "payment", meter: meter)
        try await supervised { supervisor in
            try supervisor.register(Registration(plugin, from: .source("push")))
        }
        plugin.show()
    }

    private func supervised(_ register: (Supervisor) throws -> Void) async throws {
        let store = try options.journal.map { try Store(path: $0) }
        var configuration = SupervisorConfiguration()
        configuration.store = store
        let supervisor = Supervisor(configuration: configuration, logger: quiet)
        try supervisor.add(
            makeAdapter(),
            deduplication: options.deduplication,
            durability: store == nil ? .none : .journal()
        )
        try register(supervisor)
        let run = Task { try await supervisor.run() }
        await meter.untilDone()
        run.cancel()
        try await run.value
        try store?.close()
    }

    private func makeAdapter() throws -> MQTTPushAdapter {
        let broker = try MQTTBroker(host: "127.0.0.1", port: options.port, usesTLS: options.authority != nil)
        var topic = MQTTTopic(try TopicPattern(options.topic))
        topic.qos = options.qos
        var configuration = MQTTPushConfiguration.withoutSession(source: "push", broker: broker, topics: [topic])
        if let file = options.authority { configuration.security = .tls(.authority(file: file)) }
        if let window = options.window { configuration.receiveMaximum = window }
        if let bound = options.coalescing { configuration.coalesce = bound > 0 ? .microseconds(bound) : nil }
        let logger = Logger(label: "benchmark") { _ in ReadyHandler() }
        return try MQTTPushAdapter(configuration, logger: logger)
    }

    private var plugin: PluginOptions<Payment> { PluginOptions(runsInline: options.runsInline) }

    private var quiet: Logger { Logger(label: "benchmark") { _ in SwiftLogNoOpLogHandler() } }
}

/// Numbers calls from 1.
final class CallCounter: Sendable {
    private let calls = Atomic<Int>(0)

    func next() -> Int { calls.wrappingAdd(1, ordering: .relaxed).newValue }
}

/// A plugin that takes 1 ms per batch, like a plugin that makes its actions durable together.
final class CommitPlugin: BatchPlugin {
    let action: ActionName
    private let meter: Meter
    private let calls = Atomic<Int>(0)
    /// Blocks a thread as a disk would, and no task.
    private let disk = DispatchQueue(label: "disk")

    init(action: ActionName, meter: Meter) {
        self.action = action
        self.meter = meter
    }

    func callAsActions(_ batch: [(info: Payment, context: ActionContext)]) async throws {
        meter.begin()
        calls.add(1, ordering: .relaxed)
        await withCheckedContinuation { done in
            disk.async {
                usleep(1_000)
                done.resume()
            }
        }
        _ = meter.count(batch.count)
    }

    /// Prints the number of batches.
    func show() {
        print(calls.load(ordering: .relaxed))
        fflush(nil)
    }
}

/// Settles every arrival immediately, on the adapter's thread.
struct CountingIntake: Intake {
    let meter: Meter

    func submit(_ batch: [Arrival], to sink: any SettlementSink) -> Int {
        for arrival in batch {
            _ = meter.count()
            sink.mayAcknowledge(arrival.token)
            sink.settle(arrival.token, .handled(reply: nil))
        }
        return batch.count
    }

    func room() async throws(SourceClosed) {}
}

/// The body of every message.
struct Payment: Decodable, Sendable {
    /// When latency is measured, the time of publication on the monotonic clock, in nanoseconds.
    let amount: Int
    let transactionId: String
    let paymentId: String
    let paymentGoodsName: String
}

/// Prints `ready` when the adapter logs that it has subscribed, and discards everything else.
struct ReadyHandler: LogHandler {
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.info

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        guard event.message.description.contains("subscribed to") else { return }
        print("ready")
        fflush(nil)
    }
}
