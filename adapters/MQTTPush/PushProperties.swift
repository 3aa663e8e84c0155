import CMosquitto

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// What a message's publisher said about it in MQTT 5 properties (MQTT 5.0, 3.3.2.3). None of it is to be trusted.
///
/// What is kept of one message is bounded, as a publisher may put megabytes of properties on an empty message: at most
/// ``userPropertyLimit`` user properties, and at most ``textLimit`` bytes of texts and correlation data together. A
/// property that does not fit is left out whole, and ``truncated`` says so; content type, response topic and correlation
/// data come before user properties.
public struct PushProperties: Sendable, Hashable {
    /// One user property; names may repeat, and the order is the publisher's.
    public struct UserProperty: Sendable, Hashable, Encodable {
        /// The property's name, possibly empty.
        public let name: String
        /// The property's value, possibly empty.
        public let value: String
    }

    /// The most user properties kept of one message: 64.
    public static let userPropertyLimit = 64
    /// The most bytes kept of one message's content type, response topic, correlation data, and names and values of user
    /// properties together: 8 KiB.
    public static let textLimit = 8 * 1_024

    /// What the payload is, in the publisher's words.
    public internal(set) var contentType: String?
    /// The topic on which the publisher wants an answer.
    public internal(set) var responseTopic: String?
    /// What an answer must carry so that the publisher knows what it answers.
    public internal(set) var correlationData: [UInt8]?
    /// The user properties that were kept.
    public internal(set) var userProperties: [UserProperty] = []
    /// For how many more seconds the message is wanted.
    public internal(set) var messageExpiry: UInt32?

    /// Whether the publisher said more than is kept.
    public internal(set) var truncated = false
    /// The bytes that count for ``textLimit``.
    private(set) var textBytes = 0

    init() {}

    /// Whether another text of this many bytes may be kept; if not, the properties are marked as truncated.
    mutating func admit(_ bytes: Int) -> Bool {
        guard bytes <= PushProperties.textLimit - textBytes else {
            truncated = true
            return false
        }
        textBytes += bytes
        return true
    }

    /// About how much memory they take, in bytes.
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
        case truncated
    }

    /// Encodes what is present; correlation data as hexadecimal digits, `truncated` only where it is true.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(contentType, forKey: .contentType)
        try container.encodeIfPresent(responseTopic, forKey: .responseTopic)
        try container.encodeIfPresent(correlationData.map(PushProperties.hexadecimal), forKey: .correlationData)
        if !userProperties.isEmpty { try container.encode(userProperties, forKey: .userProperties) }
        try container.encodeIfPresent(messageExpiry, forKey: .messageExpiry)
        if truncated { try container.encode(true, forKey: .truncated) }
    }

    private static func hexadecimal(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}

extension PushProperties {
    /// Copies what is kept of a property list of libmosquitto.
    init(copying list: OpaquePointer) {
        self.init()
        PushProperties.each(of: list) { read($0, $1) }
        // Afterwards, so that they cannot crowd out what has a meaning in MQTT.
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
        default: break
        }
    }

    // The library gives copies made with malloc, which are ours to free; it checked that texts are UTF-8.
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
