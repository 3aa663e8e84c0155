import AdapterSupport
import CMosquitto

/// The MQTT 5 properties that the publisher set on a message (MQTT 5.0, 3.3.2.3).
///
/// The properties are untrusted, because any client that may publish to the topic can set them.
///
/// Their size is limited, because a publisher may attach megabytes of properties to an empty message. The adapter keeps
/// at most ``userPropertyLimit`` user properties, and at most ``textLimit`` bytes of text and correlation data in
/// total. A property that does not fit is left out entirely, and ``truncated`` is set. The content type, response topic
/// and correlation data take precedence over user properties.
public struct PushProperties: Sendable, Hashable {
    /// A user property. Its name and its value may both be empty.
    public typealias UserProperty = MQTTMessage.UserProperty

    /// The maximum number of user properties kept for a message: 64.
    public static let userPropertyLimit = 64
    /// The maximum total size of a message's content type, response topic, correlation data and user properties: 8 KiB.
    /// The size of a user property includes both its name and its value.
    public static let textLimit = 8 * 1_024

    /// The type of the payload, according to the publisher.
    public internal(set) var contentType: String?
    /// The topic on which the publisher expects a reply.
    public internal(set) var responseTopic: String?
    /// The data to repeat in a reply, so that the publisher can match the reply to its request.
    public internal(set) var correlationData: [UInt8]?
    /// The user properties that fit within the limits.
    public internal(set) var userProperties: [UserProperty] = []
    /// The remaining lifetime of the message, in seconds.
    public internal(set) var messageExpiry: UInt32?
    /// The payload format indicator: 1 if the payload is UTF-8 text, according to the publisher, or 0 (MQTT 5.0,
    /// 3.3.2.3.2). Nothing checks the payload.
    public internal(set) var payloadFormat: UInt8?

    /// Whether properties were left out because of the limits.
    public internal(set) var truncated = false
    /// The number of bytes that count towards ``textLimit``.
    private(set) var textBytes = 0

    init() {}

    /// Counts another text with this number of bytes if it fits within ``textLimit``. Otherwise, sets ``truncated``.
    ///
    /// - Returns: Whether the text fits.
    mutating func admit(_ bytes: Int) -> Bool {
        guard bytes <= PushProperties.textLimit - textBytes else {
            truncated = true
            return false
        }
        textBytes += bytes
        return true
    }

    /// The approximate amount of memory that the properties use, in bytes.
    var memoryEstimate: Int {
        512 + textBytes + userProperties.count * (MemoryLayout<UserProperty>.stride + 64)
    }

    var isEmpty: Bool { self == PushProperties() }
}

extension PushProperties: Encodable {
    private enum CodingKeys: String, CodingKey {
        case contentType = "content_type"
        case responseTopic = "response_topic"
        case correlationData = "correlation_data"
        case userProperties = "user_properties"
        case messageExpiry = "message_expiry"
        case payloadFormat = "payload_format"
        case truncated
    }

    /// Encodes the properties that are present. Correlation data is encoded as hexadecimal digits. `truncated` is
    /// encoded only if it is true.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(contentType, forKey: .contentType)
        try container.encodeIfPresent(responseTopic, forKey: .responseTopic)
        try container.encodeIfPresent(correlationData?.hexadecimal, forKey: .correlationData)
        if !userProperties.isEmpty { try container.encode(userProperties, forKey: .userProperties) }
        try container.encodeIfPresent(messageExpiry, forKey: .messageExpiry)
        try container.encodeIfPresent(payloadFormat, forKey: .payloadFormat)
        if truncated { try container.encode(true, forKey: .truncated) }
    }
}

extension PushProperties {
    /// Copies the properties in a libmosquitto list that fit within the limits.
    init(copying list: OpaquePointer) {
        self.init()
        PushProperties.each(of: list) { read($0, $1) }
        // User properties come last, so that they cannot crowd out the properties that MQTT itself defines.
        PushProperties.each(of: list) { readUserProperty($0, $1) }
    }

    private static func each(of list: OpaquePointer, _ body: (OpaquePointer, Int32) -> Void) {
        var next: OpaquePointer? = list
        while let property = next {
            body(property, mosquitto_property_identifier(property))
            next = mosquitto_property_next(property)
        }
    }

    private mutating func read(_ property: OpaquePointer, _ identifier: Int32) {
        switch UInt32(bitPattern: identifier) {
        case MQTT_PROP_CONTENT_TYPE.rawValue: contentType = text(property, identifier)
        case MQTT_PROP_RESPONSE_TOPIC.rawValue: responseTopic = text(property, identifier)
        case MQTT_PROP_CORRELATION_DATA.rawValue: correlationData = bytes(property, identifier)
        case MQTT_PROP_MESSAGE_EXPIRY_INTERVAL.rawValue:
            var seconds: UInt32 = 0
            if mosquitto_property_read_int32(property, identifier, &seconds, false) != nil { messageExpiry = seconds }
        case MQTT_PROP_PAYLOAD_FORMAT_INDICATOR.rawValue:
            var format: UInt8 = 0
            if mosquitto_property_read_byte(property, identifier, &format, false) != nil { payloadFormat = format }
        default: break
        }
    }

    // The library returns copies made with malloc, which the caller must free. It has already checked that texts are
    // UTF-8.
    private mutating func text(_ property: OpaquePointer, _ identifier: Int32) -> String? {
        var copy: UnsafeMutablePointer<CChar>?
        defer { free(copy) }
        guard mosquitto_property_read_string(property, identifier, &copy, false) != nil, let copy else { return nil }
        return admit(strlen(copy)) ? String(cString: copy) : nil
    }

    private mutating func bytes(_ property: OpaquePointer, _ identifier: Int32) -> [UInt8]? {
        var copy: UnsafeMutableRawPointer?
        var length: UInt16 = 0
        defer { free(copy) }
        guard mosquitto_property_read_binary(property, identifier, &copy, &length, false) != nil else { return nil }
        let count = copy == nil ? 0 : Int(length)
        return admit(count) ? Array(UnsafeRawBufferPointer(start: copy, count: count)) : nil
    }

    private mutating func readUserProperty(_ property: OpaquePointer, _ identifier: Int32) {
        guard UInt32(bitPattern: identifier) == MQTT_PROP_USER_PROPERTY.rawValue else { return }
        guard userProperties.count < PushProperties.userPropertyLimit else {
            truncated = true
            return
        }
        var name: UnsafeMutablePointer<CChar>?
        var value: UnsafeMutablePointer<CChar>?
        defer {
            free(name)
            free(value)
        }
        guard mosquitto_property_read_string_pair(property, identifier, &name, &value, false) != nil,
            admit((name.map { strlen($0) } ?? 0) + (value.map { strlen($0) } ?? 0))
        else { return }
        userProperties.append(
            UserProperty(name: name.map { String(cString: $0) } ?? "", value: value.map { String(cString: $0) } ?? "")
        )
    }
}
