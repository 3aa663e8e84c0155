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
