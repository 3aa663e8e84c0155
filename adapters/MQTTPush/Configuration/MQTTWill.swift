import SignalboxRoutes

/// What a broker publishes in a client's name when its connection breaks without a goodbye (MQTT 5.0, 3.1.2.5).
public struct MQTTWill: Sendable, Hashable {
    /// The topic, without wildcards.
    public var topic: String
    /// The message, at most 65,535 bytes.
    public var payload: [UInt8]
    /// How surely it is delivered; at least once by default.
    public var quality: MQTTQuality
    /// Whether the broker stores it for later subscribers; `false` by default.
    public var retain: Bool

    /// A will.
    public init(topic: String, payload: [UInt8], quality: MQTTQuality = .atLeastOnce, retain: Bool = false) {
        self.topic = topic
        self.payload = payload
        self.quality = quality
        self.retain = retain
    }

    func validate() throws(MQTTPushError) {
        do throws(TopicError) {
            _ = try TopicName(topic)
        } catch {
            throw MQTTPushError(.invalidConfiguration, "the will's topic \(topic.debugDescription): \(error)")
        }
        guard payload.count <= 65_535 else {
            throw MQTTPushError(.invalidConfiguration, "the will has more than 65535 bytes")
        }
    }
}
