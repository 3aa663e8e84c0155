/// Which MQTT is spoken with a broker.
public enum MQTTVersion: String, Sendable, Hashable, CaseIterable {
    /// MQTT 3.1.1 (OASIS, 2014): no properties, no reasons for what is refused, and no expiry of a session.
    case v311 = "3.1.1"
    /// MQTT 5 (OASIS, 2019).
    case v5 = "5"
}
