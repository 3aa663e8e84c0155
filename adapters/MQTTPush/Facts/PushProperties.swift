/// What a message's publisher said about it in MQTT 5 properties (MQTT 5.0, 3.3.2.3). None of it is to be trusted.
public struct PushProperties: Sendable, Hashable {
    /// One user property; names may repeat, and the order is the publisher's.
    public struct UserProperty: Sendable, Hashable, Encodable {
        /// The property's name, possibly empty.
        public let name: String
        /// The property's value, possibly empty.
        public let value: String
    }

    /// What the payload is, in the publisher's words.
    public internal(set) var contentType: String?
    /// The topic on which the publisher wants an answer.
    public internal(set) var responseTopic: String?
    /// What an answer must carry so that the publisher knows what it answers.
    public internal(set) var correlationData: [UInt8]?
    /// All user properties.
    public internal(set) var userProperties: [UserProperty] = []
    /// For how many more seconds the message is wanted.
    public internal(set) var messageExpiry: UInt32?

    init() {}

    var isEmpty: Bool { self == PushProperties() }
}

extension PushProperties: Encodable {
    private enum CodingKeys: String, CodingKey {
        case contentType = "content_type"
        case responseTopic = "response_topic"
        case correlationData = "correlation_data"
        case userProperties = "user_properties"
        case messageExpiry = "message_expiry"
    }

    /// Encodes what is present; correlation data as hexadecimal digits.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(contentType, forKey: .contentType)
        try container.encodeIfPresent(responseTopic, forKey: .responseTopic)
        try container.encodeIfPresent(correlationData.map(PushProperties.hexadecimal), forKey: .correlationData)
        if !userProperties.isEmpty { try container.encode(userProperties, forKey: .userProperties) }
        try container.encodeIfPresent(messageExpiry, forKey: .messageExpiry)
    }

    private static func hexadecimal(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
