/// How often a message may be delivered if the process dies while handling it, so that one message cannot keep a program in a
/// crash loop.
///
/// Only messages of QoS 1 count: the broker redelivers them under the same packet identifier (MQTT 5.0, 4.4). A file lists those
/// being handled. The messages that it lists when a process starts are handled one by one, which clears those that were merely
/// in the same batch. One that was listed ``deliveries`` times is `rejected(deliveryLimit)`: a dead letter, acknowledged.
public struct MQTTDeliveryLimit: Sendable, Hashable {
    /// The path of the file, which is created for its owner alone and locked while the source runs. Each further connection of
    /// the source has its own file, with `.` and the connection's name appended. If it cannot be opened or written, a log line
    /// says so and nothing is counted.
    public var file: String
    /// How many deliveries a message gets, 1 to 1,000; 5 by default.
    public var deliveries: Int

    /// A limit as given.
    public init(file: String, deliveries: Int = 5) {
        self.file = file
        self.deliveries = deliveries
    }

    func validate() throws(MQTTPushError) {
        guard !file.isEmpty, !file.utf8.contains(0) else {
            throw MQTTPushError(.invalidConfiguration, "the file of deliveries has no name")
        }
        guard (1...1_000).contains(deliveries) else {
            throw MQTTPushError(.invalidConfiguration, "a message gets 1 to 1000 deliveries")
        }
    }
}
