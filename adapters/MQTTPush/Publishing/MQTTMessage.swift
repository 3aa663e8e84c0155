import CMosquitto
import SignalboxRoutes

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

/// What the broker said to a message it took.
public struct MQTTReceipt: Sendable, Hashable {
    /// The reason code of the PUBACK (MQTT 5.0, 3.4.2.1), below 128: 0, or 16 when nobody subscribes to the topic and the
    /// broker says so. Always 0 at QoS 0 and with MQTT 3.1.1.
    public let reasonCode: Int

    /// Whether the broker said that nobody subscribes to the topic; most brokers do not say.
    public var hasNoSubscribers: Bool { reasonCode == 16 }
}

/// What came back to a request.
///
/// Whoever may publish to the response topic could have written it: the topic's last level and the correlation cannot be
/// guessed, but the broker's operator and whoever may subscribe to `#` can read them.
public struct MQTTReply: Sendable, Hashable {
    /// What it says; of a Signalbox source `{"id", "outcome", "reply" | "error"}` as JSON.
    public let payload: [UInt8]
    /// What became of the action, where the answer has the user property `outcome`, as Signalbox's has: `handled`,
    /// `rejected` or `failed`.
    public let outcome: String?
    /// What the payload is, in the answerer's words.
    public let contentType: String?
    /// The user properties of the answer, `outcome` included, at most 64.
    public let userProperties: [MQTTMessage.UserProperty]

    /// The payload as text, or `nil` when it is not UTF-8.
    public var text: String? { String(validating: payload, as: UTF8.self) }
}

/// What can be told about a message without a broker.
struct PublishCheck {
    private let version: MQTTVersion

    init(_ configuration: MQTTPublisherConfiguration) {
        version = configuration.version
    }

    /// - Throws: ``MQTTPublishError`` `invalidMessage` or `tooLarge`.
    func check(_ message: MQTTMessage) throws(MQTTPublishError) {
        try checkTopic(message.topic, "topic")
        if let topic = message.responseTopic { try checkTopic(topic, "response topic") }
        guard message.payload.count <= MQTTMessage.largestPayload else {
            throw MQTTPublishError(.tooLarge, "a payload has at most \(MQTTMessage.largestPayload) bytes")
        }
        guard version == .v5 else { return try checkHasNoProperties(message) }
        guard (message.correlation?.count ?? 0) <= 65_535 else {
            throw fault("correlation data has at most 65535 bytes")
        }
        if let expiry = message.expiry, !(.zero ... .seconds(4_294_967_295) ~= expiry) || expiry == .zero {
            throw fault("an expiry is above 0 and at most 2^32 - 1 s")
        }
        guard message.userProperties.count <= 64 else { throw fault("a message has at most 64 user properties") }
        var texts = message.userProperties.flatMap { [$0.name, $0.value] }
        if let type = message.contentType { texts.append(type) }
        for text in texts where !PublishCheck.isText(text) {
            throw fault("the texts of properties have at most 65535 bytes and no control characters")
        }
    }

    private func checkHasNoProperties(_ message: MQTTMessage) throws(MQTTPublishError) {
        guard message.responseTopic == nil, message.correlation == nil, message.contentType == nil,
            message.expiry == nil, message.userProperties.isEmpty
        else { throw fault("MQTT 3.1.1 has no properties: leave them out, or set the version to 5") }
    }

    private func checkTopic(_ text: String, _ name: String) throws(MQTTPublishError) {
        do {
            _ = try TopicName(text)
        } catch {
            throw fault("the \(name): \(error)")
        }
        guard PublishCheck.isText(text) else { throw fault("the \(name) has control characters") }
    }

    /// Whether the library takes it: it refuses control characters and what is no character.
    private static func isText(_ text: String) -> Bool {
        var text = text
        let count = text.utf8.count
        guard count <= 65_535 else { return false }
        return text.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) { mosquitto_validate_utf8($0.baseAddress, Int32(count)) == 0 }
                || count == 0
        }
    }

    private func fault(_ detail: String) -> MQTTPublishError {
        MQTTPublishError(.invalidMessage, detail)
    }
}
