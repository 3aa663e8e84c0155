/// A message to publish, as MQTT 5.0, section 3.3 has it.
///
/// Content type, expiry, response topic, correlation and user properties are properties of MQTT 5: with MQTT 3.1.1 a message
/// that has one is refused as `invalidMessage`.
public struct MQTTMessage: Sendable, Hashable {
    /// One user property; names may repeat, and the order is kept.
    public struct UserProperty: Sendable, Hashable {
        /// The property's name.
        public var name: String
        /// The property's value.
        public var value: String

        /// A property of this name.
        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    /// The most bytes of a payload: what MQTT's largest packet (268,435,455 bytes) holds beside a topic and properties.
    public static let largestPayload = 268_000_000

    /// The topic, without wildcards, at most 65,535 bytes.
    public var topic: String
    /// What it says, any bytes, at most ``largestPayload``.
    public var payload: [UInt8]
    /// At most once (written and forgotten) or, by default, at least once (acknowledged by the broker).
    public var quality: MQTTQuality
    /// Whether the broker keeps it for whoever subscribes later; `false` by default. An empty payload then deletes what it
    /// keeps.
    public var retain: Bool
    /// The topic an answer is wanted on, without wildcards.
    public var responseTopic: String?
    /// What the answer carries so that it can be told whose it is; at most 65,535 bytes.
    public var correlation: [UInt8]?
    /// What the payload is, such as `application/json`.
    public var contentType: String?
    /// How long the message is wanted, counted from the call; whole seconds are sent, rounded up, 1 s to 2^32 - 1 s. One
    /// that is still queued when the time is over is not sent: `expired`.
    public var expiry: Duration?
    /// What else is said about it; at most 64, with at most 65,535 bytes of each text.
    public var userProperties: [UserProperty]

    /// A message at least once, not retained, without properties.
    ///
    /// - Parameters:
    ///   - payload: what it says.
    ///   - topic: where it goes; checked when it is published.
    ///   - quality: at least once by default.
    ///   - retain: whether the broker keeps it, `false` by default.
    public init(
        _ payload: [UInt8],
        to topic: String,
        quality: MQTTQuality = .atLeastOnce,
        retain: Bool = false
    ) {
        self.topic = topic
        self.payload = payload
        self.quality = quality
        self.retain = retain
        userProperties = []
    }

    /// A text, as UTF-8, at least once, not retained, without properties.
    ///
    /// - Parameters:
    ///   - text: what it says.
    ///   - topic: where it goes; checked when it is published.
    ///   - quality: at least once by default.
    ///   - retain: whether the broker keeps it, `false` by default.
    public init(
        _ text: String,
        to topic: String,
        quality: MQTTQuality = .atLeastOnce,
        retain: Bool = false
    ) {
        self.init(Array(text.utf8), to: topic, quality: quality, retain: retain)
    }
}
