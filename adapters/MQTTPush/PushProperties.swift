import AdapterSupport

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

extension PushProperties: Decodable {
    /// Decodes properties that ``encode(to:)`` encoded.
    ///
    /// - Throws: `DecodingError` if the correlation data is not hexadecimal, or a value has another type.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init()
        contentType = try container.decodeIfPresent(String.self, forKey: .contentType)
        responseTopic = try container.decodeIfPresent(String.self, forKey: .responseTopic)
        if let digits = try container.decodeIfPresent(String.self, forKey: .correlationData) {
            guard let data = [UInt8](hexadecimal: digits) else {
                let detail = "expected hexadecimal digits"
                throw DecodingError.dataCorruptedError(
                    forKey: .correlationData,
                    in: container,
                    debugDescription: detail
                )
            }
            correlationData = data
        }
        userProperties = try container.decodeIfPresent([UserProperty].self, forKey: .userProperties) ?? []
        messageExpiry = try container.decodeIfPresent(UInt32.self, forKey: .messageExpiry)
        payloadFormat = try container.decodeIfPresent(UInt8.self, forKey: .payloadFormat)
        truncated = try container.decodeIfPresent(Bool.self, forKey: .truncated) ?? false
        textBytes = [contentType, responseTopic].reduce(correlationData?.count ?? 0) { $0 + ($1?.utf8.count ?? 0) }
        for property in userProperties { textBytes += property.name.utf8.count + property.value.utf8.count }
    }
}

extension PushProperties {
    /// Reads the properties of a PUBLISH that fit within the limits.
    ///
    /// A payload format other than 0 and 1 (MQTT 5.0, 3.3.2.3.2) and a response topic with wildcards (MQTT 5.0, 3.3.2.3.5)
    /// are left out, because a publisher can send them through a broker that does not check them. They do not make the
    /// message invalid.
    ///
    /// - Parameters:
    ///   - range: The range that ``PropertyTable/check(_:for:)`` returned.
    ///   - bytes: The buffer with the packet. Nothing keeps it after the call.
    init(reading range: Range<Int>, of bytes: UnsafeRawBufferPointer) {
        self.init()
        var hasUserProperties = false
        PropertyTable.each(range, of: bytes) { value in
            if case .userProperty = value { hasUserProperties = true } else { read(value, bytes) }
        }
        guard hasUserProperties else { return }
        // User properties come last, so that they cannot crowd out the properties that MQTT itself defines.
        PropertyTable.each(range, of: bytes) { value in
            if case .userProperty(let name, let value) = value { readUserProperty(name, value, bytes) }
        }
    }

    private mutating func read(_ value: PropertyValue, _ bytes: UnsafeRawBufferPointer) {
        switch value {
        case .text(.contentType, let range): contentType = admitted(range).map { bytes.text($0) }
        case .text(.responseTopic, let range):
            let hasWildcard = bytes[range].contains { $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "#") }
            guard !hasWildcard else { return }
            responseTopic = admitted(range).map { bytes.text($0) }
        case .data(.correlationData, let range): correlationData = admitted(range).map { Array(bytes[$0]) }
        case .number(.messageExpiry, let seconds): messageExpiry = seconds
        case .number(.payloadFormat, let format): payloadFormat = format > 1 ? nil : UInt8(format)
        default: break
        }
    }

    private mutating func readUserProperty(_ name: Range<Int>, _ value: Range<Int>, _ bytes: UnsafeRawBufferPointer) {
        guard userProperties.count < PushProperties.userPropertyLimit else {
            truncated = true
            return
        }
        guard admit(name.count + value.count) else { return }
        userProperties.append(UserProperty(name: bytes.text(name), value: bytes.text(value)))
    }

    private mutating func admitted(_ range: Range<Int>) -> Range<Int>? { admit(range.count) ? range : nil }
}

extension UnsafeRawBufferPointer {
    /// The text at a range, which must be within the buffer.
    fileprivate func text(_ range: Range<Int>) -> String { String(decoding: self[range], as: UTF8.self) }
}
