/// The packets with which a client changes its subscriptions, keeps or ends the connection, and authenticates itself.
extension PacketOutput {
    /// Adds a single SUBSCRIBE for topics with the same options (MQTT 5.0, 3.8).
    ///
    /// MQTT 3.1.1 has no option for retained messages and no subscription identifiers.
    ///
    /// - Parameters:
    ///   - group: The topic filters, of which there must be at least one.
    ///   - packet: The packet identifier, which SUBACK will repeat. It must not be in use.
    ///   - identifier: The number that the server sends with each message of these subscriptions (MQTT 5.0, 3.8.2.1.2).
    ///   - packetLimit: The largest packet that the server accepts.
    /// - Throws: `tooLong`, `nullCharacter`, `invalid`, `packetTooLarge` or `outputFull`.
    mutating func subscribe(
        _ group: SubscriptionGroup,
        packet: UInt16,
        identifier: UInt32? = nil,
        version: MQTTVersion,
        packetLimit: UInt32 = .max
    ) throws(PacketEncodingError) {
        try validate(group.filters, packet)
        if let identifier, !(1...UInt32(PacketSize.largest)).contains(identifier) {
            throw .invalid(.subscriptionIdentifier)
        }
        let content = SubscribePacket(group: group, packet: packet, identifier: identifier, version: version)
        // The flags of the fixed header are reserved and must be 0010 (MQTT 5.0, 3.8.1).
        try add(0x82, content, packetLimit: packetLimit)
    }

    /// Adds a single UNSUBSCRIBE (MQTT 5.0, 3.10).
    ///
    /// - Parameters:
    ///   - filters: The topic filters as they were subscribed, of which there must be at least one.
    ///   - packet: The packet identifier, which UNSUBACK will repeat. It must not be in use.
    ///   - packetLimit: The largest packet that the server accepts.
    /// - Throws: `tooLong`, `nullCharacter`, `invalid`, `packetTooLarge` or `outputFull`.
    mutating func unsubscribe(
        _ filters: [String],
        packet: UInt16,
        version: MQTTVersion,
        packetLimit: UInt32 = .max
    ) throws(PacketEncodingError) {
        try validate(filters, packet)
        let content = UnsubscribePacket(filters: filters, packet: packet, version: version)
        // The flags of the fixed header are reserved and must be 0010 (MQTT 5.0, 3.10.1).
        try add(0xA2, content, packetLimit: packetLimit)
    }

    private func validate(_ filters: [String], _ packet: UInt16) throws(PacketEncodingError) {
        guard packet != 0 else { throw .invalid(.packetIdentifier) }
        guard !filters.isEmpty else { throw .invalid(.noFilters) }
        guard filters.allSatisfy({ !$0.isEmpty }) else { throw .invalid(.emptyTopic) }
    }

    /// Adds PINGREQ, which the server answers with PINGRESP (MQTT 5.0, 3.12).
    mutating func ping() {
        addHeader(0xC0)
    }

    /// Adds a DISCONNECT that ends the connection normally, so that the server does not publish the will
    /// (MQTT 5.0, 3.14.2.1).
    mutating func disconnect() {
        addHeader(0xE0)
    }

    /// Adds a DISCONNECT with a reason (MQTT 5.0, 3.14). In MQTT 3.1.1, DISCONNECT has no content and means that the
    /// connection ends normally.
    ///
    /// - Parameters:
    ///   - reason: The reason, which must be one that a client may send (MQTT 5.0, 3.14.2.1).
    ///   - sessionExpiry: The number of seconds for which the server keeps the session, in place of the number in
    ///     CONNECT. If that number was 0, this one must be `nil` or 0 (MQTT 5.0, 3.14.2.2.2).
    ///   - reasonString: A text for the server's log.
    ///   - packetLimit: The largest packet that the server accepts.
    /// - Throws: `tooLong`, `nullCharacter`, `packetTooLarge` or `outputFull`.
    mutating func disconnect(
        _ reason: ReasonCode,
        sessionExpiry: UInt32? = nil,
        reasonString: String? = nil,
        version: MQTTVersion,
        packetLimit: UInt32 = .max
    ) throws(PacketEncodingError) {
        guard version == .v5, reason != .success || sessionExpiry != nil || reasonString != nil else {
            return disconnect()
        }
        let properties = DisconnectProperties(sessionExpiry: sessionExpiry, reasonString: reasonString)
        try add(0xE0, DisconnectPacket(reason: reason, properties: properties), packetLimit: packetLimit)
    }

    /// Adds AUTH, which continues an enhanced authentication or starts it again (MQTT 5.0, 3.15). Its memory is
    /// overwritten once it has been written.
    ///
    /// - Parameters:
    ///   - reason: 24 to continue, or 25 to authenticate again (MQTT 5.0, 3.15.2.1).
    ///   - method: The method in CONNECT (MQTT 5.0, 4.12).
    ///   - data: The data of the method.
    ///   - version: The version of the connection. MQTT 3.1.1 has no AUTH.
    ///   - packetLimit: The largest packet that the server accepts.
    /// - Throws: `tooLong`, `nullCharacter`, `invalid`, `packetTooLarge` or `outputFull`.
    mutating func authenticate(
        _ reason: ReasonCode,
        method: String,
        data: [UInt8]?,
        version: MQTTVersion,
        packetLimit: UInt32 = .max
    ) throws(PacketEncodingError) {
        guard version == .v5 else { throw .invalid(.unknownPacketType) }
        let content = AuthPacket(reason: reason, properties: AuthProperties(method: method, data: data))
        try add(0xF0, content, packetLimit: packetLimit, isSecret: true)
    }
}

private struct SubscribePacket: PacketContent {
    let group: SubscriptionGroup
    let packet: UInt16
    let identifier: UInt32?
    let version: MQTTVersion

    func write(to fields: inout some PacketFields) throws(PacketEncodingError) {
        fields.two(packet)
        if version == .v5 { try fields.properties(SubscribeProperties(identifier: identifier)) }
        for filter in group.filters {
            try fields.text(filter, .filter)
            fields.byte(options)
        }
    }

    /// The subscription options (MQTT 5.0, 3.8.3.1). Retained messages are sent for a new subscription (1) or never (2).
    /// MQTT 3.1.1 has the quality of service only.
    private var options: UInt8 {
        let qos = UInt8(truncatingIfNeeded: group.qos.rawValue)
        guard version == .v5 else { return qos }
        return qos | (group.retained == .ignore ? 0x20 : 0x10)
    }
}

private struct SubscribeProperties: PacketContent {
    let identifier: UInt32?

    func write(to fields: inout some PacketFields) throws(PacketEncodingError) {
        guard let identifier else { return }
        fields.byte(PropertyID.subscriptionID.rawValue)
        fields.variable(identifier)
    }
}

private struct UnsubscribePacket: PacketContent {
    let filters: [String]
    let packet: UInt16
    let version: MQTTVersion

    func write(to fields: inout some PacketFields) throws(PacketEncodingError) {
        fields.two(packet)
        if version == .v5 { fields.variable(0) }
        for filter in filters { try fields.text(filter, .filter) }
    }
}

private struct DisconnectPacket: PacketContent {
    let reason: ReasonCode
    let properties: DisconnectProperties

    func write(to fields: inout some PacketFields) throws(PacketEncodingError) {
        fields.byte(UInt8(truncatingIfNeeded: reason.rawValue))
        // Without properties, their length can be left out (MQTT 5.0, 3.14.2.2.1).
        if !properties.isEmpty { try fields.properties(properties) }
    }
}

private struct DisconnectProperties: PacketContent {
    let sessionExpiry: UInt32?
    let reasonString: String?

    var isEmpty: Bool { sessionExpiry == nil && reasonString == nil }

    func write(to fields: inout some PacketFields) throws(PacketEncodingError) {
        fields.property(.sessionExpiry, four: sessionExpiry)
        try fields.property(.reasonString, text: reasonString, .reasonString)
    }
}

private struct AuthPacket: PacketContent {
    let reason: ReasonCode
    let properties: AuthProperties

    func write(to fields: inout some PacketFields) throws(PacketEncodingError) {
        fields.byte(UInt8(truncatingIfNeeded: reason.rawValue))
        try fields.properties(properties)
    }
}

private struct AuthProperties: PacketContent {
    let method: String
    let data: [UInt8]?

    func write(to fields: inout some PacketFields) throws(PacketEncodingError) {
        try fields.property(.authenticationMethod, text: method, .authenticationMethod)
        try fields.property(.authenticationData, data: data, .authenticationData)
    }
}
