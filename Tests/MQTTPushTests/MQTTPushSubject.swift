import BrokerKit
import Logging
import MQTTPush
import SignalboxCore
import SignalboxRoutes
import SignalboxTesting

/// A push source with a session and a topic of its own, and a publisher on the same broker.
struct MQTTPushSubject: ConformanceSubject {
    let adapter: any Adapter
    let batchBound: Int
    /// Acknowledgements leave a batch at a time.
    let waitsForEachBatch = true
    private let broker: Broker
    private let topic: String

    /// Returns when the broker keeps a session with the subscription: what is published from then on reaches the adapter.
    init(_ source: SourceName, broker: Broker) async throws {
        topic = "conformance/\(source)"
        var configuration = try MQTTPushConfiguration.test(broker, [try MQTTTopic(topic)], clientID: source.text)
        configuration.source = source
        configuration.batchMessages = 32
        // A broker on a busy machine takes its time, and none of the cases is about that.
        configuration.farewellTimeout = .seconds(300)
        batchBound = configuration.batchMessages
        self.broker = broker
        adapter = try MQTTPushAdapter(configuration, logger: Logger(label: "push") { _ in SwiftLogNoOpLogHandler() })
        try await PushTrial.run(configuration) { _ in }
    }

    func send(_ messages: [ConformanceMessage]) async throws {
        try await broker.publish(lines: messages.map(\.envelope), to: topic)
    }

    func end() async {}
}
