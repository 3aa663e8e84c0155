/// Limits how often a message is delivered if handling it crashes the process.
///
/// Use a limit if the process is restarted after a crash. Without one, the broker redelivers the message that caused
/// the crash after each restart, so a single message can keep the program from working.
///
/// The adapter lists the messages in flight in a file. If the file lists any messages when a process starts, the
/// process handles messages one at a time, which clears those that only happened to be in flight together with the cause
/// of the crash. A message that was in flight during ``deliveries`` crashes is `rejected(deliveryLimit)`, so it becomes
/// a dead letter and is acknowledged.
///
/// Only QoS 1 messages are counted, because the broker redelivers them with the same packet identifier (MQTT 5.0, 4.4).
public struct MQTTDeliveryLimit: Sendable, Hashable {
    /// The path of the file that lists the messages in flight.
    ///
    /// The adapter creates the file so that only the file's owner has access, and locks it while the source runs. If
    /// the file cannot be opened or written, a warning is logged and deliveries are not counted.
    ///
    /// Each additional connection of the source uses a separate file, with `.` and the connection's name appended to
    /// the path.
    public var file: String
    /// The maximum number of times to deliver a message. Must be between 1 and 1,000; the default is 5.
    public var deliveries: Int

    /// Creates a limit.
    public init(file: String, deliveries: Int = 5) {
        self.file = file
        self.deliveries = deliveries
    }

    func validate() throws(MQTTPushError) {
        try MQTTPushError.check([
            (!file.isEmpty && !file.utf8.contains(0), "the file name of the deliveries is empty"),
            (1...1_000 ~= deliveries, "a message must get 1 to 1000 deliveries"),
        ])
    }
}
