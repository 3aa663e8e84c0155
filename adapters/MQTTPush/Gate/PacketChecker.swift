/// A checked packet from a broker. Ranges refer to the buffer of the ``PacketSplitter``.
enum InboundPacket: Equatable {
    indirect case connack(Connack)
    case publish(PublishPacket)
    /// A PUBLISH over the packet limit, and the length of its whole payload.
    case oversized(PublishPacket, length: Int)
    case puback(UInt16, ReasonCode)
    /// The reason codes in the order of the topic filters.
    case suback(UInt16, [ReasonCode])
    /// The reason codes in the order of the topic filters. In MQTT 3.1.1, each is a success.
    case unsuback(UInt16, [ReasonCode])
    case pong
    case disconnect(ReasonCode, serverReference: String?)
    /// The broker continues the authentication that CONNECT began.
    case auth(ReasonCode, method: String, data: Range<Int>?)
    /// A late answer: to a PINGREQ, SUBSCRIBE or UNSUBSCRIBE that is not open.
    case ignored
}

/// Checks the packets of one connection, in the order in which they arrive.
///
/// A packet that it returns has the structure that MQTT requires. Values that a publisher decides, such as wildcards in
/// a topic or a payload format over 1, are not checked. After a violation, each further packet is the same violation.
struct PacketChecker {
    private enum Phase { case connecting, open, ended }
    private enum Request: Equatable { case subscribe(filters: Int), unsubscribe(filters: Int) }

    private let hasProperties: Bool
    /// The authentication method in CONNECT, if it has one.
    var authenticationMethod: String?
    private var phase = Phase.connecting
    private var requests: [UInt16: Request] = [:]
    private var pings = 0
    private var aliases: InboundAliases
    private var violation: PacketViolation?

    /// - Parameters:
    ///   - aliasMaximum: The Topic Alias Maximum in CONNECT. It must be 0 in MQTT 3.1.1.
    ///   - authMethod: The authentication method in CONNECT, if it has one.
    init(version: MQTTVersion, aliasMaximum: UInt16, authMethod: String?) {
        hasProperties = version == .v5
        aliases = InboundAliases(maximum: aliasMaximum)
        authenticationMethod = authMethod
    }

    /// Expects the answer to a SUBSCRIBE with this packet identifier and number of topic filters.
    mutating func expectSuback(_ packet: UInt16, filters: Int) {
        requests[packet] = .subscribe(filters: filters)
    }

    /// Expects the answer to an UNSUBSCRIBE with this packet identifier and number of topic filters.
    mutating func expectUnsuback(_ packet: UInt16, filters: Int) {
        requests[packet] = .unsubscribe(filters: filters)
    }

    /// Expects the answer to a PINGREQ.
    mutating func expectPingResponse() {
        pings += 1
    }

    /// Checks a packet.
    ///
    /// - Parameter bytes: The buffer that the frame refers to.
    mutating func check(
        _ frame: PacketFrame,
        in bytes: UnsafeRawBufferPointer
    ) throws(PacketViolation) -> InboundPacket {
        do throws(PacketViolation) {
            if frame.first & 0xF0 == 0x30, phase == .open { return try publish(frame, bytes) }
            return try other(frame, bytes)
        } catch {
            let located = violation ?? error.located(in: frame)
            violation = located
            phase = .ended
            throw located
        }
    }

    /// Calls `body` with the topic of a PUBLISH, which comes from the packet or from its topic alias.
    ///
    /// - Parameters:
    ///   - publish: A packet that ``check(_:in:)`` returned, before the next one is checked.
    ///   - bytes: The buffer that the packet refers to.
    func withTopic<R>(
        of publish: PublishPacket,
        in bytes: UnsafeRawBufferPointer,
        _ body: (UnsafeRawBufferPointer) -> R
    ) -> R {
        guard publish.topic.isEmpty else { return body(UnsafeRawBufferPointer(rebasing: bytes[publish.topic])) }
        return aliases.topic(publish.alias).withUnsafeBytes { body($0) }
    }

    @inline(__always)
    private mutating func publish(
        _ frame: PacketFrame,
        _ bytes: UnsafeRawBufferPointer
    ) throws(PacketViolation) -> InboundPacket {
        if frame.isOversized {
            let (packet, length) = try PublishPacket.oversized(frame, in: bytes, hasProperties: hasProperties)
            if packet.alias != 0 { try aliases.use(packet, in: bytes) }
            return .oversized(packet, length: length)
        }
        let packet = try PublishPacket(frame, in: bytes, hasProperties: hasProperties)
        if packet.alias != 0 { try aliases.use(packet, in: bytes) }
        return .publish(packet)
    }

    private mutating func other(
        _ frame: PacketFrame,
        _ bytes: UnsafeRawBufferPointer
    ) throws(PacketViolation) -> InboundPacket {
        let type = PacketType(first: frame.first)
        try checkPhase(type, at: frame.start)
        guard frame.first & 0x0F == 0 else { throw PacketViolation(.reservedBits, at: frame.start) }
        var cursor = PacketCursor(bytes, frame.body)
        return switch type {
        case .connack: try connack(&cursor)
        case .puback: try puback(&cursor)
        case .suback: try suback(&cursor)
        case .unsuback: try unsuback(&cursor)
        case .pingresp: try pingResponse(&cursor)
        case .disconnect: try disconnect(&cursor)
        case .auth: try auth(&cursor)
        default: throw PacketViolation(.notFromBroker, at: frame.start)
        }
    }

    /// Requires that a broker may send this type of packet now, except PUBLISH on an open connection.
    private func checkPhase(_ type: PacketType, at offset: Int) throws(PacketViolation) {
        switch type {
        case .connack, .publish, .puback, .suback, .unsuback, .pingresp: break
        case .disconnect, .auth:
            guard hasProperties else { throw PacketViolation(.notFromBroker, at: offset) }
        default: throw PacketViolation(.notFromBroker, at: offset)
        }
        switch phase {
        case .connecting:
            // A broker may send AUTH before CONNACK if CONNECT has a method (MQTT 5.0, 4.12). DISCONNECT follows
            // CONNACK (MQTT 5.0, 3.14.4).
            guard type == .connack || type == .auth else { throw PacketViolation(.beforeConnack, at: offset) }
        case .open: if type == .connack { throw PacketViolation(.secondConnack, at: offset) }
        case .ended: throw PacketViolation(.afterEnd, at: offset)
        }
    }
}

// MARK: - Connections

extension PacketChecker {
    private mutating func connack(_ cursor: inout PacketCursor) throws(PacketViolation) -> InboundPacket {
        let start = cursor.position
        let flags = try cursor.byte()
        guard flags <= 1 else { throw PacketViolation(.reservedBits, at: start) }
        let code = try cursor.byte()
        guard code == 0 || flags == 0 else { throw PacketViolation(.sessionPresent, at: start) }
        // A broker that knows only MQTT 3.1.1 refuses CONNECT of MQTT 5 in its own format (MQTT 5.0, 3.1.2.2).
        let isOldRefusal = code == 1 && cursor.remaining == 0
        guard hasProperties, !isOldRefusal else {
            try cursor.finish()
            phase = code == 0 ? .open : .ended
            return .connack(Connack(code: ReasonCode(returnCode: Int32(code)), isSessionPresent: flags == 1))
        }
        guard code == 0 || code >= 0x80 else { throw PacketViolation(.reasonCode, at: start + 1) }
        var connack = Connack(code: ReasonCode(rawValue: Int32(code)), isSessionPresent: flags == 1)
        let block = try PropertyTable.check(&cursor, for: .connack)
        try cursor.finish()
        PropertyTable.each(block.range, of: cursor.bytes) { connack.read($0, cursor.bytes) }
        // MQTT 5.0, 4.12: a method occurs only if CONNECT has the same one, and then in each CONNACK with code 0.
        let method = connack.authenticationMethod
        guard isRequested(method) || code != 0 && method == nil else {
            throw PacketViolation(.authentication, at: block.range.lowerBound)
        }
        phase = code == 0 ? .open : .ended
        return .connack(connack)
    }

    private mutating func disconnect(_ cursor: inout PacketCursor) throws(PacketViolation) -> InboundPacket {
        // MQTT 5.0, 3.14.2.1 and 3.14.2.2.1: the code and the length of the properties may be left out.
        let start = cursor.position
        let code = cursor.remaining == 0 ? 0 : try cursor.byte()
        guard code == 0 || code >= 0x80 else { throw PacketViolation(.reasonCode, at: start) }
        var reference: String?
        var reason: String?
        if cursor.remaining > 0 {
            let block = try PropertyTable.check(&cursor, for: .disconnect)
            try cursor.finish()
            PropertyTable.each(block.range, of: cursor.bytes) { value in
                if case .text(.serverReference, let range) = value { reference = cursor.bytes.string(range) }
            }
            reason = PacketChecker.reason(in: block, of: cursor.bytes)
        }
        phase = .ended
        return .disconnect(ReasonCode(rawValue: Int32(code), reason: reason), serverReference: reference)
    }

    private func auth(_ cursor: inout PacketCursor) throws(PacketViolation) -> InboundPacket {
        let start = cursor.position
        // A client that does not authenticate again receives only challenges, and only before CONNACK (MQTT 5.0, 4.12).
        guard let expected = authenticationMethod, phase == .connecting else {
            throw PacketViolation(.authentication, at: start)
        }
        let code = cursor.remaining == 0 ? 0 : try cursor.byte()
        // The other codes of AUTH belong to a later authentication, which this client does not start.
        guard code == 0x18 else {
            throw PacketViolation(code == 0 || code == 0x19 ? .authentication : .reasonCode, at: start)
        }
        let block = try PropertyTable.check(&cursor, for: .auth)
        try cursor.finish()
        var method: String?
        var data: Range<Int>?
        PropertyTable.each(block.range, of: cursor.bytes) { value in
            switch value {
            case .text(.authenticationMethod, let range): method = cursor.bytes.string(range)
            case .data(.authenticationData, let range): data = range
            default: break
            }
        }
        guard isRequested(method) else { throw PacketViolation(.authentication, at: block.range.lowerBound) }
        return .auth(ReasonCode(rawValue: Int32(code)), method: expected, data: data)
    }

    /// Whether the method is the one in CONNECT, byte for byte: strings are also equal if they only look the same.
    private func isRequested(_ method: String?) -> Bool {
        guard let method, let authenticationMethod else { return method == nil && authenticationMethod == nil }
        return method.utf8.elementsEqual(authenticationMethod.utf8)
    }

    private mutating func pingResponse(_ cursor: inout PacketCursor) throws(PacketViolation) -> InboundPacket {
        try cursor.finish()
        guard pings > 0 else { return .ignored }
        pings -= 1
        return .pong
    }
}

// MARK: - Acknowledgements

extension PacketChecker {
    private func puback(_ cursor: inout PacketCursor) throws(PacketViolation) -> InboundPacket {
        let packet = try cursor.packetID()
        var code: UInt8 = 0
        var reason: String?
        // MQTT 5.0, 3.4.2.1 and 3.4.2.2.1: the code and the length of the properties may be left out.
        if hasProperties, cursor.remaining > 0 {
            code = try cursor.byte()
            if cursor.remaining > 0 {
                reason = PacketChecker.reason(in: try PropertyTable.check(&cursor, for: .puback), of: cursor.bytes)
            }
        }
        try cursor.finish()
        return .puback(packet, ReasonCode(rawValue: Int32(code), reason: reason))
    }

    private mutating func suback(_ cursor: inout PacketCursor) throws(PacketViolation) -> InboundPacket {
        let packet = try cursor.packetID()
        let block = hasProperties ? try PropertyTable.check(&cursor, for: .suback) : nil
        let start = cursor.position
        let codes = try codes(&cursor)
        let isDefined = codes.allSatisfy { $0 <= 2 || (hasProperties ? $0 >= 0x80 : $0 == 0x80) }
        guard isDefined else { throw PacketViolation(.reasonCode, at: start) }
        guard case .subscribe(let filters) = requests[packet] else { return .ignored }
        guard codes.count == filters else { throw PacketViolation(.codeCount, at: start) }
        requests[packet] = nil
        return .suback(packet, PacketChecker.reasonCodes(codes, block, cursor.bytes))
    }

    private mutating func unsuback(_ cursor: inout PacketCursor) throws(PacketViolation) -> InboundPacket {
        let packet = try cursor.packetID()
        let block = hasProperties ? try PropertyTable.check(&cursor, for: .unsuback) : nil
        let start = cursor.position
        let codes = hasProperties ? try codes(&cursor) : nil
        try cursor.finish()
        guard case .unsubscribe(let filters) = requests[packet] else { return .ignored }
        requests[packet] = nil
        guard let codes else {
            return .unsuback(packet, [ReasonCode](repeating: .success, count: filters))
        }
        guard codes.count == filters else { throw PacketViolation(.codeCount, at: start) }
        return .unsuback(packet, PacketChecker.reasonCodes(codes, block, cursor.bytes))
    }

    /// Returns the reason codes up to the end of the packet, as bytes. There is at least one.
    private func codes(_ cursor: inout PacketCursor) throws(PacketViolation) -> Slice<UnsafeRawBufferPointer> {
        guard cursor.remaining > 0 else { throw PacketViolation(.codeCount, at: cursor.position) }
        return cursor.bytes[cursor.takeRemaining()]
    }

    /// - Parameter properties: The properties of the packet. A reason string explains each failure.
    private static func reasonCodes(
        _ codes: Slice<UnsafeRawBufferPointer>,
        _ properties: PropertyBlock?,
        _ bytes: UnsafeRawBufferPointer
    ) -> [ReasonCode] {
        let reason = properties.flatMap { PacketChecker.reason(in: $0, of: bytes) }
        let failure = ReasonCode(rawValue: ReasonCode.unspecified.rawValue, reason: reason)
        return codes.map { code in
            code < 0x80
                ? ReasonCode(rawValue: Int32(code)) : ReasonCode(rawValue: Int32(code), withReasonOf: failure)
        }
    }

    /// The reason string among the properties, if there is one (MQTT 5.0, 3.4.2.2.2).
    private static func reason(in block: PropertyBlock, of bytes: UnsafeRawBufferPointer) -> String? {
        guard block.contains(.reasonString) else { return nil }
        var reason: String?
        PropertyTable.each(block.range, of: bytes) { value in
            if case .text(.reasonString, let range) = value { reason = bytes.string(range) }
        }
        return reason
    }
}

extension UnsafeRawBufferPointer {
    /// The UTF-8 text in a range of the buffer.
    func string(_ range: Range<Int>) -> String {
        String(decoding: UnsafeRawBufferPointer(rebasing: self[range]), as: UTF8.self)
    }
}
