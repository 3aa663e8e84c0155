/// What the broker said to a message it took.
public struct MQTTReceipt: Sendable, Hashable {
    /// The reason code of the PUBACK (MQTT 5.0, 3.4.2.1), below 128: 0, or 16 when nobody subscribes to the topic and the
    /// broker says so. Always 0 at QoS 0 and with MQTT 3.1.1.
    public let reasonCode: Int

    /// Whether the broker said that nobody subscribes to the topic; most brokers do not say.
    public var hasNoSubscribers: Bool { reasonCode == 16 }
}
