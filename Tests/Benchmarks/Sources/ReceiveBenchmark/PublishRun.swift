import Logging
import MQTTPush

/// The publisher as shipped, with several tasks that publish one message after the other.
struct PublishRun {
    /// As long as the smallest message of the receiving rows.
    private static let payload = [UInt8](repeating: UInt8(ascii: "x"), count: 202)

    let options: Options
    let meter: Meter

    func publish() async throws {
        let broker = try MQTTBroker(host: "127.0.0.1", port: options.port, usesTLS: false)
        let configuration = MQTTPublisherConfiguration(source: "push", broker: broker)
        let logger = Logger(label: "benchmark") { _ in SwiftLogNoOpLogHandler() }
        let publisher = try MQTTPublisher(configuration, logger: logger)
        let run = Task { try await publisher.run() }
        // So that the connection is not measured.
        try await publisher.publish(MQTTMessage(Self.payload, to: options.topic))
        meter.begin()
        try await publishAll(with: publisher)
        await meter.untilDone()
        run.cancel()
        try await run.value
    }

    private func publishAll(with publisher: MQTTPublisher) async throws {
        let calls = CallCounter()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<options.tasks {
                group.addTask {
                    let message = MQTTMessage(Self.payload, to: options.topic, qos: options.qos)
                    while calls.next() <= options.count {
                        try await publisher.publish(message)
                        _ = meter.count()
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}
