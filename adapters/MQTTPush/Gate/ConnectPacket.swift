/// What a client tells a server in CONNECT (MQTT 5.0, 3.1; MQTT 3.1.1, 3.1).
///
/// In MQTT 3.1.1, which has no properties, everything that is a property in MQTT 5 is left out.
struct ConnectRequest {
    /// The message that the server publishes if the connection ends without DISCONNECT (MQTT 5.0, 3.1.2.5).
    struct Will {
        var topic: String
        var payload: [UInt8]
        var qos = MQTTQoS.atLeastOnce
        var retain = false
        /// The number of seconds for which the server waits before it publishes the will (MQTT 5.0, 3.1.3.2.2).
        var delay: UInt32?
        /// The number of seconds for which the published will is valid.
        var expiry: UInt32?
        var contentType: String?
        var responseTopic: String?
        var correlation: [UInt8]?
        /// 1 if the payload is UTF-8 text, 0 if it is not specified (MQTT 5.0, 3.1.3.2.3).
        var payloadFormat: UInt8?
        var userProperties: [MQTTMessage.UserProperty] = []

        init(topic: String, payload: [UInt8]) {
            self.topic = topic
            self.payload = payload
        }
    }

    var version: MQTTVersion
    var clientID: String
    /// Whether the server discards the session of the client id.
    var cleanStart: Bool
    /// The number of seconds for which the server keeps the session after the connection (MQTT 5.0, 3.1.2.11.2).
    var sessionExpiry: UInt32 = 0
    /// The number of seconds in which the client sends at least one packet, or 0 if there is no such limit.
    var keepalive: UInt16
    /// The number of QoS 1 messages that the client accepts before it acknowledges the first (MQTT 5.0, 3.1.2.11.3).
    var receiveMaximum: UInt16 = 20
    /// The largest packet that the client accepts (MQTT 5.0, 3.1.2.11.4).
    var packetBytes: UInt32
    /// The highest topic alias that the client accepts, or 0 if it accepts none (MQTT 5.0, 3.1.2.11.5).
    var topicAliasMaximum: UInt16 = 0
    var userName: String?
    var password: [UInt8]?
    var will: Will?
    /// The method of an enhanced authentication (MQTT 5.0, 4.12).
    var authMethod: String?
    /// What the client sends first in an enhanced authentication. It needs a method.
    var authData: [UInt8]?
    var userProperties: [MQTTMessage.UserProperty] = []

    init(version: MQTTVersion, clientID: String, cleanStart: Bool, keepalive: UInt16, packetBytes: UInt32) {
        self.version = version
        self.clientID = clientID
        self.cleanStart = cleanStart
        self.keepalive = keepalive
        self.packetBytes = packetBytes
    }
}

extension ConnectRequest {
    /// Begins an enhanced authentication, if there is one.
    mutating func use(_ exchange: AuthenticationExchange?) {
        (authMethod, authData) = (exchange?.method, exchange?.first)
    }
}

extension PacketOutput {
    /// Adds CONNECT. Its memory is overwritten once it has been written, because it can contain a password.
    ///
    /// - Throws: `tooLong`, `nullCharacter`, `invalid`, `packetTooLarge` or `outputFull`.
    mutating func add(_ request: ConnectRequest) throws(PacketEncodingError) {
        try request.validate()
        try add(0x10, request, isSecret: true)
    }
}

extension ConnectRequest: PacketContent {
    /// Refuses what a server must treat as a protocol error.
    fileprivate func validate() throws(PacketEncodingError) {
        if let will, will.topic.isEmpty { throw .invalid(.emptyTopic) }
        switch version {
        case .v311:
            // MQTT 3.1.1, 3.1.2.9 (MQTT-3.1.2-22). MQTT 5 has no such rule.
            guard password == nil || userName != nil else { throw .invalid(.passwordWithoutUserName) }
        case .v5:
            guard receiveMaximum > 0, packetBytes > 0 else { throw .invalid(.zeroLimit) }
            guard authData == nil || authMethod != nil else { throw .invalid(.dataWithoutMethod) }
        }
    }

    func write(to fields: inout some PacketFields) throws(PacketEncodingError) {
        try fields.text("MQTT", .protocolName)
        fields.byte(version == .v5 ? 5 : 4)
        fields.byte(flags)
        fields.two(keepalive)
        if version == .v5 { try fields.properties(ConnectProperties(request: self)) }
        try fields.text(clientID, .clientID)
        if let will {
            if version == .v5 { try fields.properties(WillProperties(will: will)) }
            try fields.text(will.topic, .willTopic)
            try fields.data(will.payload, .willPayload)
        }
        if let userName { try fields.text(userName, .userName) }
        if let password { try fields.data(password, .password) }
    }

    /// The connect flags (MQTT 5.0, 3.1.2.3).
    private var flags: UInt8 {
        var flags: UInt8 = cleanStart ? 0x02 : 0
        if let will {
            flags |= 0x04 | UInt8(truncatingIfNeeded: will.qos.rawValue) << 3
            if will.retain { flags |= 0x20 }
        }
        if password != nil { flags |= 0x40 }
        if userName != nil { flags |= 0x80 }
        return flags
    }
}

/// The properties of CONNECT (MQTT 5.0, 3.1.2.11). The session expiry and both limits are always sent, even if they are
/// at their defaults.
private struct ConnectProperties: PacketContent {
    let request: ConnectRequest

    func write(to fields: inout some PacketFields) throws(PacketEncodingError) {
        fields.property(.sessionExpiry, four: request.sessionExpiry)
        fields.property(.maximumPacketSize, four: request.packetBytes)
        fields.property(.topicAliasMaximum, two: request.topicAliasMaximum > 0 ? request.topicAliasMaximum : nil)
        try fields.property(.authenticationMethod, text: request.authMethod, .authenticationMethod)
        try fields.property(.authenticationData, data: request.authData, .authenticationData)
        try fields.userProperties(request.userProperties)
        fields.property(.receiveMaximum, two: request.receiveMaximum)
    }
}

/// The properties of a will (MQTT 5.0, 3.1.3.2).
private struct WillProperties: PacketContent {
    let will: ConnectRequest.Will

    func write(to fields: inout some PacketFields) throws(PacketEncodingError) {
        fields.property(.payloadFormat, byte: will.payloadFormat)
        fields.property(.messageExpiry, four: will.expiry)
        try fields.property(.contentType, text: will.contentType, .contentType)
        try fields.property(.responseTopic, text: will.responseTopic, .responseTopic)
        try fields.property(.correlationData, data: will.correlation, .correlation)
        fields.property(.willDelay, four: will.delay)
        try fields.userProperties(will.userProperties)
    }
}

/// A CONNACK (MQTT 5.0, 3.2). What the broker leaves out has the value that the specification gives it.
struct Connack: Equatable {
    /// What holds until the broker has answered.
    static let `default` = Connack(code: .success, isSessionPresent: false)

    var code: ReasonCode
    let isSessionPresent: Bool
    /// The session expiry in seconds, if it differs from the one in CONNECT.
    var sessionExpiry: UInt32?
    var receiveMaximum: UInt16 = 65_535
    var maximumQoS: UInt8 = 2
    var isRetainAvailable = true
    var maximumPacketSize: UInt32?
    /// Whether the broker assigned a client id. This is not a violation, although the client always sends its own.
    var hasAssignedClientID = false
    var topicAliasMaximum: UInt16 = 0
    var isWildcardAvailable = true
    var areSubscriptionIDsAvailable = true
    var areSharedSubscriptionsAvailable = true
    /// The keepalive in seconds that replaces the one in CONNECT.
    var serverKeepAlive: UInt16?
    var serverReference: String?
    /// The broker's last authentication data, as a range of the buffer.
    var authenticationData: Range<Int>?
    /// The method of an enhanced authentication.
    var authenticationMethod: String?
}

extension Connack {
    /// Takes over a checked property.
    mutating func read(_ value: PropertyValue, _ bytes: UnsafeRawBufferPointer) {
        switch value {
        case .number(let id, let number): read(id, number)
        case .text(.assignedClientID, _): hasAssignedClientID = true
        case .text(.reasonString, let range):
            code = ReasonCode(rawValue: code.rawValue, reason: bytes.string(range))
        case .text(.serverReference, let range): serverReference = bytes.string(range)
        case .text(.authenticationMethod, let range): authenticationMethod = bytes.string(range)
        case .data(.authenticationData, let range): authenticationData = range
        default: break
        }
    }

    private mutating func read(_ id: PropertyID, _ number: UInt32) {
        switch id {
        case .sessionExpiry: sessionExpiry = number
        case .receiveMaximum: receiveMaximum = UInt16(truncatingIfNeeded: number)
        case .maximumQoS: maximumQoS = UInt8(truncatingIfNeeded: number)
        case .retainAvailable: isRetainAvailable = number == 1
        case .maximumPacketSize: maximumPacketSize = number
        case .topicAliasMaximum: topicAliasMaximum = UInt16(truncatingIfNeeded: number)
        case .wildcardAvailable: isWildcardAvailable = number == 1
        case .subscriptionIDsAvailable: areSubscriptionIDsAvailable = number == 1
        case .sharedAvailable: areSharedSubscriptionsAvailable = number == 1
        case .serverKeepAlive: serverKeepAlive = UInt16(truncatingIfNeeded: number)
        default: break
        }
    }
}
