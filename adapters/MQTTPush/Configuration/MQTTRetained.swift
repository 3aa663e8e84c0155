/// What becomes of the messages that a broker had stored before a subscription was made.
public enum MQTTRetained: String, Sendable, Hashable, CaseIterable {
    /// They are delivered, marked as retained. MQTT 5 sends them once, where the subscription is new; MQTT 3.1.1 again with
    /// each connection.
    case deliver
    /// Nobody wants them. An MQTT 5 broker is asked not to send them; what one of MQTT 3.1.1 sends is acknowledged,
    /// counted and dropped.
    case ignore
}
