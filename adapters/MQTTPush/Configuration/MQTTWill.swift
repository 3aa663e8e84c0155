import AdapterSupport
import SignalboxRoutes

/// A message that the broker publishes if the client's connection ends without a DISCONNECT packet (MQTT 5.0, 3.1.2.5).
///
/// Use a will to let other programs know that this client has gone.
///
/// The delay and all properties from the expiry on are MQTT 5 properties. A configuration for MQTT 3.1.1 whose will has any
/// of them is invalid.
public struct MQTTWill: Sendable, Hashable {
    /// The topic, without wildcards.
    public var topic: String
    /// The payload. It can have at most 65,535 bytes.
    public var payload: [UInt8]
    /// The quality of service. The default is at least once.
    public var qos: MQTTQoS
    /// Whether the broker retains the message for later subscribers. The default is `false`.
    public var retain: Bool
    /// How long the broker waits before it publishes the will (MQTT 5.0, 3.1.3.2.2). Must be a whole number of seconds
    /// between 0 and 2^32 - 1; the default is 0.
    ///
    /// If the client connects again within this time, the will is not published. The broker publishes the will at the end
    /// of the session at the latest, so a delay needs ``MQTTPushConfiguration/sessionExpiry``, and a publisher, which has
    /// no session, cannot have one.
    public var delay: Duration = .zero
    /// How long the published will is valid. Must be a whole number of seconds between 1 and 2^32 - 1, or `nil` for no
    /// limit, which is the default.
    public var expiry: Duration?
    /// The type of the payload, such as `application/json`.
    public var contentType: String?
    /// The topic, without wildcards, on which a reply to the will is expected.
    public var responseTopic: String?
    /// The data to repeat in a reply, at most 65,535 bytes.
    public var correlation: [UInt8]?
    /// Whether the will says that its payload is UTF-8 text (MQTT 5.0, 3.1.3.2.3). The payload must then be UTF-8. The
    /// default is `false`.
    public var isText = false
    /// The user properties. There can be at most 64, and each name and value can have at most 65,535 bytes.
    public var userProperties: [MQTTMessage.UserProperty] = []

    /// Creates a will without properties.
    public init(topic: String, payload: [UInt8], qos: MQTTQoS = .atLeastOnce, retain: Bool = false) {
        self.topic = topic
        self.payload = payload
        self.qos = qos
        self.retain = retain
    }
}

extension MQTTWill {
    /// - Parameter keepsSession: Whether the broker keeps the session when the connection ends.
    func validate(for version: MQTTVersion, keepsSession: Bool) throws(MQTTPushError) {
        do throws(TopicError) {
            _ = try TopicName(topic)
        } catch {
            throw .invalid("the will's topic \(topic.debugDescription): \(error)")
        }
        let isDelayValid = delay.isWholeSeconds(in: 0...4_294_967_295)
        let isExpiryValid = expiry.map { $0.isWholeSeconds(in: 1...4_294_967_295) } ?? true
        try MQTTPushError.check([
            (payload.count <= 65_535, "the will must have at most 65535 bytes"),
            (version == .v5 || !hasProperties, "MQTT 3.1.1 has no will delay and no properties of wills: use MQTT 5"),
            (isDelayValid, "the will's delay must be a whole number of seconds, 0 to 4294967295"),
            (isExpiryValid, "the will's expiry must be a whole number of seconds, 1 to 4294967295"),
            (
                keepsSession || delay == .zero,
                "without a session, the broker publishes the will at once: leave the will's delay out"
            ),
        ])
        do throws(MQTTPublishError) {
            try message.validate(for: version)
        } catch {
            throw .invalid("the will: \(error.detail)")
        }
    }

    private var hasProperties: Bool {
        delay != .zero || expiry != nil || contentType != nil || responseTopic != nil || correlation != nil || isText
            || !userProperties.isEmpty
    }

    /// The message that the broker publishes.
    private var message: MQTTMessage {
        var message = MQTTMessage(payload, to: topic, qos: qos, retain: retain)
        message.expiry = expiry
        message.contentType = contentType
        message.responseTopic = responseTopic
        message.correlation = correlation
        message.isText = isText
        message.userProperties = userProperties
        return message
    }

    /// The will in CONNECT.
    var packet: ConnectRequest.Will {
        var packet = ConnectRequest.Will(topic: topic, payload: payload)
        packet.qos = qos
        packet.retain = retain
        packet.delay = delay == .zero ? nil : MQTTWill.seconds(delay)
        packet.expiry = expiry.map(MQTTWill.seconds)
        packet.contentType = contentType
        packet.responseTopic = responseTopic
        packet.correlation = correlation
        packet.payloadFormat = isText ? 1 : nil
        packet.userProperties = userProperties
        return packet
    }

    private static func seconds(_ time: Duration) -> UInt32 { UInt32(clamping: time.components.seconds) }
}
