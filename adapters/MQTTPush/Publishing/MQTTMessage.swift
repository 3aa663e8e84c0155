import CMosquitto
import SignalboxRoutes

/// A message to publish (MQTT 5.0, 3.3).
///
/// Content type, expiry, response topic, correlation and user properties are MQTT 5 properties. With MQTT 3.1.1 a
/// message that has one fails with `invalidMessage`.
public struct MQTTMessage: Sendable, Hashable {
    /// A user property. Names may repeat, and the order is kept.
    public struct UserProperty: Sendable, Hashable, Encodable {
        /// The property's name.
        public var name: String
        /// The property's value.
        public var value: String

        /// Creates a property.
        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    /// The maximum payload in bytes: MQTT's largest packet (268,435,455 bytes) less room for topic and properties.
    public static let largestPayload = 268_000_000

    /// The topic, without wildcards, at most 65,535 bytes.
    public var topic: String
    /// The payload: any bytes, at most ``largestPayload``.
    public var payload: [UInt8]
    /// The quality of service: at most once (unacknowledged) or, by default, at least once (acknowledged).
    public var qos: MQTTQoS
    /// Whether the broker retains the message for later subscribers; `false` by default. With an empty payload it
    /// instead deletes the retained message.
    public var retain: Bool
    /// The topic on which a reply is expected, without wildcards.
    public var responseTopic: String?
    /// Data that the reply repeats, so that it can be matched to the request; at most 65,535 bytes.
    public var correlation: [UInt8]?
    /// The type of the payload, such as `application/json`.
    public var contentType: String?
    /// The lifetime of the message from the call on, above zero and at most 2^32 - 1 s. The remainder is sent in whole
    /// seconds, rounded up. A message still queued when it ends fails with `expired`.
    public var expiry: Duration?
    /// User properties, at most 64, with at most 65,535 bytes per text.
    public var userProperties: [UserProperty]

    /// Creates a message, by default at least once and not retained, without properties.
    ///
    /// - Parameters:
    ///   - payload: The payload.
    ///   - topic: The topic; checked when the message is published.
    ///   - qos: The quality of service; at least once by default.
    ///   - retain: Whether the broker retains the message; `false` by default.
    public init(
        _ payload: [UInt8],
        to topic: String,
        qos: MQTTQoS = .atLeastOnce,
        retain: Bool = false
    ) {
        self.topic = topic
        self.payload = payload
        self.qos = qos
        self.retain = retain
        userProperties = []
    }

    /// Creates a message with a text as UTF-8, by default at least once and not retained, without properties.
    ///
    /// - Parameters:
    ///   - text: The payload.
    ///   - topic: The topic; checked when the message is published.
    ///   - qos: The quality of service; at least once by default.
    ///   - retain: Whether the broker retains the message; `false` by default.
    public init(
        _ text: String,
        to topic: String,
        qos: MQTTQoS = .atLeastOnce,
        retain: Bool = false
    ) {
        self.init(Array(text.utf8), to: topic, qos: qos, retain: retain)
    }
}

/// The broker's acknowledgement of a message.
public struct MQTTReceipt: Sendable, Hashable {
    /// The reason code of the PUBACK (MQTT 5.0, 3.4.2.1), below 128: 0, or 16 if the topic has no subscribers and the
    /// broker reports this. Always 0 at QoS 0 and with MQTT 3.1.1.
    public let reasonCode: Int

    /// Whether the broker reported that the topic has no subscribers; most brokers do not report this.
    public var hasNoSubscribers: Bool { reasonCode == 16 }
}

/// The reply to a request.
///
/// Any client that may publish to the response topic can forge a reply. The topic's last level and the correlation
/// cannot be guessed, but the broker's operator and clients that may subscribe to `#` can read them.
public struct MQTTReply: Sendable, Hashable {
    /// The payload. A Signalbox source sends `{"id" | "uuid", "outcome", "reply" | "error"}` as JSON.
    public let payload: [UInt8]
    /// The reply's user property `outcome`. From Signalbox, it is the action's: `handled`, `rejected` or `failed`.
    public let outcome: String?
    /// The type of the payload, as stated by the replier.
    public let contentType: String?
    /// The user properties of the reply, including `outcome`, at most 64.
    public let userProperties: [MQTTMessage.UserProperty]

    /// The payload as text, or `nil` if it is not UTF-8.
    public var text: String? { String(validating: payload, as: UTF8.self) }
}

extension MQTTMessage {
    /// Validates the message as far as possible without a broker.
    ///
    /// - Parameter version: The protocol version of the connection.
    /// - Throws: ``MQTTPublishError`` `invalidMessage` or `tooLarge`.
    func validate(for version: MQTTVersion) throws(MQTTPublishError) {
        try MQTTMessage.validateTopic(topic, "topic")
        if let responseTopic { try MQTTMessage.validateTopic(responseTopic, "response topic") }
        guard payload.count <= MQTTMessage.largestPayload else {
            throw MQTTPublishError(.tooLarge, "a payload must have at most \(MQTTMessage.largestPayload) bytes")
        }
        guard version == .v5 else { return try validateHasNoProperties() }
        guard (correlation?.count ?? 0) <= 65_535 else {
            throw .invalid("correlation data must have at most 65535 bytes")
        }
        if let expiry, !(.zero ... .seconds(4_294_967_295) ~= expiry) || expiry == .zero {
            throw .invalid("an expiry must be above 0 and at most 2^32 - 1 s")
        }
        guard userProperties.count <= 64 else {
            throw .invalid("a message can have at most 64 user properties")
        }
        var texts = userProperties.flatMap { [$0.name, $0.value] }
        if let contentType { texts.append(contentType) }
        for text in texts where !MQTTMessage.isText(text) {
            throw .invalid("texts of properties must have at most 65535 bytes and no control characters")
        }
    }

    private func validateHasNoProperties() throws(MQTTPublishError) {
        guard responseTopic == nil, correlation == nil, contentType == nil, expiry == nil, userProperties.isEmpty
        else { throw .invalid("MQTT 3.1.1 has no properties: leave them out, or use MQTT 5") }
    }

    private static func validateTopic(_ text: String, _ name: String) throws(MQTTPublishError) {
        do {
            _ = try TopicName(text)
        } catch {
            throw .invalid("the \(name): \(error)")
        }
        guard isText(text) else { throw .invalid("the \(name) has control characters") }
    }

    /// Returns whether the library accepts the text, which must not contain control characters or noncharacters.
    private static func isText(_ text: String) -> Bool {
        var text = text
        let count = text.utf8.count
        guard count <= 65_535 else { return false }
        return text.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) { mosquitto_validate_utf8($0.baseAddress, Int32(count)) == 0 }
                || count == 0
        }
    }
}
