import MQTTPush

/// Publishes one message several times.
struct RepeatedMessage: Sendable {
    /// The maximum number of repetitions.
    static let limit = 1_000_000

    let publisher: MQTTPublisher
    let message: MQTTMessage
    /// How often the message is published in all.
    let count: Int
    /// The minimum time between the starts of two messages, or `nil` for none.
    let interval: Duration?

    /// What a report says if the end came first.
    var missing: String { "not all \(count) messages were sent" }

    /// Publishes the message. This method returns when every accepted message was published or has failed, or when the
    /// task is cancelled.
    func run() async -> PublishReport {
        var report = PublishReport(topic: message.topic, missing: missing)
        var paced = PacedPublisher(publisher, interval: interval)
        for _ in 0..<count where !Task.isCancelled {
            guard await !paced.publish(message), !Task.isCancelled else { continue }
            report.rejected += 1
        }
        report.isComplete = !Task.isCancelled
        await paced.finish()
        return report
    }
}
