import SignalboxRoutes

/// A message to publish (MQTT 5.0, 3.3).
///
/// The content type, expiry, response topic, correlation, text indicator and user properties are MQTT 5 properties. If the
/// connection uses MQTT 3.1.1, a message with any of these properties fails with `invalidMessage`.
public struct MQTTMessage: Sendable, Hashable {
    /// A user property. A message may have several user properties with the same name, whose order is preserved.
    public struct UserProperty: Sendable, Hashable, Codable {
        /// The name of the property.
        public var name: String
        /// The value of the property.
        public var value: String

        /// Creates a property.
        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    /// The maximum size of a payload, in bytes. It leaves room for the topic and the properties in the largest possible
    /// MQTT packet, which has 268,435,455 bytes.
    public static let largestPayload = 268_000_000

    /// The topic, without wildcards and at most 65,535 bytes long.
    public var topic: String
    /// The payload. It can contain any bytes, up to ``largestPayload``.
    public var payload: [UInt8]
    /// The quality of service. The default is at least once, which means that the broker acknowledges the message.
    public var qos: MQTTQoS
    /// Whether the broker retains the message for later subscribers. The default is `false`. If this property is `true`
    /// and the payload is empty, the broker deletes the topic's retained message instead.
    public var retain: Bool
    /// The topic, without wildcards, on which a reply is expected.
    public var responseTopic: String?
    /// The data to repeat in a reply, so that the requester can match the reply to its request. The data can have at
    /// most 65,535 bytes.
    public var correlation: [UInt8]?
    /// The type of the payload, such as `application/json`.
    public var contentType: String?
    /// Whether the message says that its payload is UTF-8 text (MQTT 5.0, 3.3.2.3.2). The payload must then be UTF-8. The
    /// default is `false`.
    public var isText = false
    /// How long the message is valid, measured from the call that publishes it. Must be greater than zero and at most
    /// 2^32 - 1 s.
    ///
    /// The publisher sends the remaining time in whole seconds, rounded up. If the message is still queued when this
    /// time expires, it fails with `expired`.
    public var expiry: Duration?
    /// The user properties. There can be at most 64, and each name and value can have at most 65,535 bytes.
    public var userProperties: [UserProperty]

    /// Creates a message without properties.
    ///
    /// - Parameters:
    ///   - payload: The payload.
    ///   - topic: The topic, which is checked when the message is published.
    ///   - qos: The quality of service. The default is at least once.
    ///   - retain: Whether the broker retains the message. The default is `false`.
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

    /// Creates a message without properties whose payload is a text, encoded as UTF-8.
    ///
    /// - Parameters:
    ///   - text: The payload.
    ///   - topic: The topic, which is checked when the message is published.
    ///   - qos: The quality of service. The default is at least once.
    ///   - retain: Whether the broker retains the message. The default is `false`.
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
    /// The reason code in the PUBACK, which is below 128 (MQTT 5.0, 3.4.2.1). It is 16 if the broker reports that the
    /// topic has no subscribers, and 0 otherwise. With QoS 0 or MQTT 3.1.1, it is always 0.
    public let reasonCode: Int

    /// Whether the broker reported that the topic has no subscribers. Most brokers do not report this.
    public var hasNoSubscribers: Bool { reasonCode == 16 }
}

/// The reply to a request.
///
/// Any client that may publish to the response topic can forge a reply. Other clients cannot guess the last level of
/// the response topic or the correlation data. However, both can be read by the broker's operator and by clients that
/// may subscribe to `#`.
public struct MQTTReply: Sendable, Hashable {
    /// The payload. A Signalbox source sends `{"id" | "uuid", "outcome", "reply" | "error"}` as JSON.
    public let payload: [UInt8]
    /// The reply's user property `outcome`, if it has one. In a reply from Signalbox, it is the outcome of the action:
    /// `handled`, `rejected` or `failed`.
    public let outcome: String?
    /// The type of the payload, according to the replier.
    public let contentType: String?
    /// The reply's user properties, including `outcome`. There are at most 64.
    public let userProperties: [MQTTMessage.UserProperty]

    /// The payload as text, or `nil` if it is not UTF-8.
    public var text: String? { String(validating: payload, as: UTF8.self) }
}

extension MQTTMessage {
    /// Checks everything about the message that can be checked without a broker.
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
        guard !isText || String(validating: payload, as: UTF8.self) != nil else {
            throw .invalid("the payload is not UTF-8 text, as it should be")
        }
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
        guard responseTopic == nil, correlation == nil, contentType == nil, expiry == nil, !isText,
            userProperties.isEmpty
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

    /// Returns whether brokers accept the text, which must not contain control characters or noncharacters
    /// (MQTT 5.0, 1.5.4).
    fileprivate static func isText(_ text: String) -> Bool {
        text.utf8.count <= 65_535
            && text.unicodeScalars.allSatisfy {
                $0.properties.generalCategory != .control && !$0.properties.isNoncharacterCodePoint
            }
    }
}

extension MQTTMessage.UserProperty {
    /// Checks the user properties of CONNECT.
    ///
    /// - Throws: ``MQTTPushError`` `invalidConfiguration`.
    static func validate(_ properties: [MQTTMessage.UserProperty], for version: MQTTVersion) throws(MQTTPushError) {
        let isText = properties.allSatisfy { MQTTMessage.isText($0.name) && MQTTMessage.isText($0.value) }
        try MQTTPushError.check([
            (properties.isEmpty || version == .v5, "MQTT 3.1.1 has no user properties of CONNECT: use MQTT 5"),
            (properties.count <= 64, "CONNECT can have at most 64 user properties"),
            (isText, "user properties of CONNECT must have at most 65535 bytes and no control characters"),
        ])
    }
}
