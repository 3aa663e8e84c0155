/// How surely a message is delivered (MQTT 5.0, 4.3). QoS 2 is not offered: with libmosquitto it cannot promise that nothing
/// is lost.
public enum MQTTQuality: Int, Sendable, Hashable, CaseIterable {
    /// QoS 0: never acknowledged; lost when a connection breaks or a queue is full.
    case atMostOnce = 0
    /// QoS 1: sent until it is acknowledged, and so perhaps twice.
    case atLeastOnce = 1
}
