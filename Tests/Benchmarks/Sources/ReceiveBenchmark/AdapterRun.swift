import Foundation
import Logging
import MQTTPush
import Signalbox
import SignalboxCore
import SignalboxRoutes

/// The adapter as it is shipped, with an intake that only counts or with a supervisor and a typed plugin.
enum AdapterRun {
    struct Payment: Decodable, Sendable {
        let amount: Int
        let transactionId: String
        let paymentId: String
        let paymentGoodsName: String
    }

    static func adapterOnly(port: Int32, topic: String, meter: Meter) async throws {
        let adapter = try makeAdapter(port: port, topic: topic)
        let run = Task { try await adapter.run(into: CountingIntake(meter: meter)) }
        await meter.untilDone()
        run.cancel()
        try await run.value
    }

    static func typedPlugin(port: Int32, topic: String, meter: Meter) async throws {
        let supervisor = Supervisor(logger: quiet)
        try supervisor.add(makeAdapter(port: port, topic: topic))
        try supervisor.register("payment", as: Payment.self, from: .source("push")) { payment, _ in
            precondition(payment.amount > 0, "the payment came wrong")
            _ = meter.count()
        }
        let run = Task { try await supervisor.run() }
        await meter.untilDone()
        run.cancel()
        try await run.value
    }

    private static func makeAdapter(port: Int32, topic: String) throws -> MQTTPushAdapter {
        let configuration = MQTTPushConfiguration.withoutSession(
            source: "push",
            broker: try MQTTBroker(host: "127.0.0.1", port: Int(port)),
            topics: [MQTTTopic(try TopicPattern(topic))]
        )
        let logger = Logger(label: "benchmark") { _ in ReadyHandler() }
        return try MQTTPushAdapter(configuration, logger: logger)
    }

    private static var quiet: Logger { Logger(label: "benchmark") { _ in SwiftLogNoOpLogHandler() } }
}

/// Settles everything at once, on the adapter's own thread.
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
