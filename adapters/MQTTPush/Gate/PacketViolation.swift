/// The type of a control packet, from the upper four bits of its first byte (MQTT 5.0, 2.1.2).
enum PacketType: UInt8 {
    case reserved, connect, connack, publish, puback, pubrec, pubrel, pubcomp
    case subscribe, suback, unsubscribe, unsuback, pingreq, pingresp, disconnect, auth

    /// - Parameter first: The first byte of a packet. Its lower four bits are not used.
    init(first: UInt8) {
        self = PacketType(rawValue: first >> 4) ?? .reserved
    }

    /// The name in the specification, such as `PUBLISH`.
    var name: String { self == .reserved ? "the reserved packet type" : "\(self)".uppercased() }
}

/// A packet that MQTT does not allow a broker to send. The client ends the connection with ``code``, because it cannot
/// trust the bytes that follow (MQTT 5.0, 4.13).
struct PacketViolation: Error, Equatable {
    let rule: Rule
    /// The position of the field at fault, counted from the first byte of the packet. Code that reads only a part of a
    /// packet counts from the start of its buffer instead, and ``located(in:)`` converts the position.
    let offset: Int
    /// The type of the packet, or `nil` if the code that found the violation reads only a part of it.
    let type: PacketType?

    init(_ rule: Rule, at offset: Int, in type: PacketType? = nil) {
        self.rule = rule
        self.offset = offset
        self.type = type
    }

    /// Returns the violation with the packet's type, and with the offset counted from the packet's first byte.
    func located(in frame: PacketFrame) -> PacketViolation {
        PacketViolation(rule, at: offset - frame.start, in: PacketType(first: frame.first))
    }

    /// The reason code for DISCONNECT (MQTT 5.0, 3.14.2.1). MQTT 3.1.1 closes the connection without a packet.
    var code: UInt8 { rule.code }

    /// A description for a log line. It contains nothing that the broker sent.
    var text: String { "\(type?.name ?? "a packet"), byte \(offset): \(rule.text)" }
}

extension PacketViolation {
    /// A requirement of MQTT that a packet does not meet.
    enum Rule {
        case truncated, trailingBytes, integerTooLong, integerNotShortest, invalidText, reservedBits
        case notFromBroker, beforeConnack, secondConnack, afterEnd
        case packetID, qualityOfService, secondLevel, duplicateFlag, emptyTopic, topicAlias, unsetAlias
        case property, repeatedProperty, propertyValue
        case authentication, reasonCode, sessionPresent, codeCount
        case packetSize
    }
}

extension PacketViolation.Rule {
    /// Malformed packet, protocol error, invalid topic alias, or packet too large (MQTT 5.0, 2.4).
    var code: UInt8 {
        switch self {
        case .truncated, .trailingBytes, .integerTooLong, .integerNotShortest, .invalidText, .reservedBits,
            .qualityOfService, .duplicateFlag, .property, .reasonCode:
            0x81
        case .notFromBroker, .beforeConnack, .secondConnack, .afterEnd, .packetID, .secondLevel, .emptyTopic,
            .unsetAlias, .repeatedProperty, .propertyValue, .authentication, .sessionPresent, .codeCount:
            0x82
        case .topicAlias: 0x94
        case .packetSize: 0x95
        }
    }

    /// What is wrong, as a clause without a full stop.
    var text: String {
        switch self {
        case .truncated: "the packet ends inside a field"
        case .trailingBytes: "the packet continues after its last field"
        case .integerTooLong: "a variable byte integer has more than four bytes"
        case .integerNotShortest: "a variable byte integer is not in its shortest form"
        case .invalidText: "a text is not valid UTF-8 or contains U+0000"
        case .reservedBits: "reserved bits are set"
        case .notFromBroker: "a broker must not send this type of packet"
        case .beforeConnack: "the packet precedes CONNACK"
        case .secondConnack: "CONNACK was already received"
        case .afterEnd: "the packet follows one that ends the connection"
        case .packetID: "the packet identifier is 0"
        case .qualityOfService: "QoS 3 does not exist"
        case .secondLevel: "QoS 2 is not supported: another program subscribed with QoS 2 under this client id"
        case .duplicateFlag: "DUP is set at QoS 0"
        case .emptyTopic: "the topic is empty, and there is no topic alias"
        case .topicAlias: "the topic alias is 0 or greater than the maximum"
        case .unsetAlias: "the topic alias is not set"
        case .property: "the property does not exist or is not allowed in this packet"
        case .repeatedProperty: "the property occurs more than once"
        case .propertyValue: "the value of the property is not allowed"
        case .authentication: "the authentication does not match the one requested"
        case .reasonCode: "the reason code is not defined for this packet"
        case .sessionPresent: "a refused connection has no session"
        case .codeCount: "the number of reason codes differs from the number of topic filters"
        case .packetSize: "the packet exceeds the maximum packet size"
        }
    }
}
