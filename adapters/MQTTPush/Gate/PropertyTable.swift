/// The packets in which a property may occur (MQTT 5.0, 2.2.2.2).
struct PacketSet: OptionSet {
    let rawValue: UInt16

    static let connect = PacketSet(rawValue: 1 << 0)
    static let will = PacketSet(rawValue: 1 << 1)
    static let connack = PacketSet(rawValue: 1 << 2)
    static let publish = PacketSet(rawValue: 1 << 3)
    static let puback = PacketSet(rawValue: 1 << 4)
    static let pubrec = PacketSet(rawValue: 1 << 5)
    static let pubrel = PacketSet(rawValue: 1 << 6)
    static let pubcomp = PacketSet(rawValue: 1 << 7)
    static let subscribe = PacketSet(rawValue: 1 << 8)
    static let suback = PacketSet(rawValue: 1 << 9)
    static let unsubscribe = PacketSet(rawValue: 1 << 10)
    static let unsuback = PacketSet(rawValue: 1 << 11)
    /// A DISCONNECT from a server, which must not contain a session expiry (MQTT 5.0, 3.14.2.2.2).
    static let disconnect = PacketSet(rawValue: 1 << 12)
    static let clientDisconnect = PacketSet(rawValue: 1 << 13)
    static let auth = PacketSet(rawValue: 1 << 14)

    static let message: PacketSet = [.publish, .will]
    static let acknowledgements: PacketSet = [.puback, .pubrec, .pubrel, .pubcomp, .suback, .unsuback]
    static let all = PacketSet(rawValue: 0x7FFF)
}

/// An identifier of a property (MQTT 5.0, 2.2.2.2).
enum PropertyID: UInt8, CaseIterable {
    case payloadFormat = 0x01
    case messageExpiry = 0x02
    case contentType = 0x03
    case responseTopic = 0x08
    case correlationData = 0x09
    case subscriptionID = 0x0B
    case sessionExpiry = 0x11
    case assignedClientID = 0x12
    case serverKeepAlive = 0x13
    case authenticationMethod = 0x15
    case authenticationData = 0x16
    case requestProblemInformation = 0x17
    case willDelay = 0x18
    case requestResponseInformation = 0x19
    case responseInformation = 0x1A
    case serverReference = 0x1C
    case reasonString = 0x1F
    case receiveMaximum = 0x21
    case topicAliasMaximum = 0x22
    case topicAlias = 0x23
    case maximumQoS = 0x24
    case retainAvailable = 0x25
    case userProperty = 0x26
    case maximumPacketSize = 0x27
    case wildcardAvailable = 0x28
    case subscriptionIDsAvailable = 0x29
    case sharedAvailable = 0x2A
}

/// The encoding of a property's value (MQTT 5.0, 1.5).
enum PropertyKind: UInt8 {
    /// A byte with any value. The caller decides which values it uses.
    case byte
    /// A byte that is 0 or 1.
    case flag
    case two, four, variable, text, data, pair
}

/// Where a property may occur, and the form of its value.
struct PropertyRule {
    let id: PropertyID
    let kind: PropertyKind
    let packets: PacketSet
    /// The packets in which the property may occur more than once.
    let repeats: PacketSet
    /// The least value of a number.
    let minimum: UInt32

    init(
        _ id: PropertyID,
        _ kind: PropertyKind,
        _ packets: PacketSet,
        minimum: UInt32 = 0,
        repeats: PacketSet = []
    ) {
        self.id = id
        self.kind = kind
        self.packets = packets
        self.minimum = minimum
        self.repeats = repeats
    }
}

/// The value of a property. Texts and data are ranges of the buffer that holds the packet.
enum PropertyValue: Equatable {
    case number(PropertyID, UInt32)
    case text(PropertyID, Range<Int>)
    case data(PropertyID, Range<Int>)
    case userProperty(name: Range<Int>, value: Range<Int>)
}

/// The properties of one packet, checked by ``PropertyTable/check(_:for:)``.
struct PropertyBlock: Equatable {
    /// The properties without their length.
    let range: Range<Int>
    /// The value of the topic alias, or 0 if there is none.
    fileprivate(set) var topicAlias: UInt16 = 0
    /// The first subscription identifier, or 0 if there is none.
    fileprivate(set) var subscription: UInt32 = 0
    /// One bit per identifier that occurs.
    fileprivate var identifiers: UInt64 = 0

    fileprivate init(range: Range<Int>) {
        self.range = range
    }

    /// Whether the packet has this property.
    func contains(_ id: PropertyID) -> Bool { identifiers & (1 << UInt64(id.rawValue)) != 0 }

    /// Whether there is any other property than the topic alias and subscription identifiers, which the broker has added.
    var isPublishers: Bool { identifiers & ~PropertyBlock.brokers != 0 }

    private static let brokers: UInt64 =
        1 << UInt64(PropertyID.topicAlias.rawValue) | 1 << UInt64(PropertyID.subscriptionID.rawValue)
}

/// The 27 properties of MQTT 5.0, 2.2.2.2.
enum PropertyTable {
    static let rules: [PropertyRule] = [
        PropertyRule(.payloadFormat, .byte, .message),
        PropertyRule(.messageExpiry, .four, .message),
        PropertyRule(.contentType, .text, .message),
        PropertyRule(.responseTopic, .text, .message),
        PropertyRule(.correlationData, .data, .message),
        PropertyRule(.subscriptionID, .variable, [.publish, .subscribe], minimum: 1, repeats: .publish),
        PropertyRule(.sessionExpiry, .four, [.connect, .connack, .clientDisconnect]),
        PropertyRule(.assignedClientID, .text, .connack),
        PropertyRule(.serverKeepAlive, .two, .connack),
        PropertyRule(.authenticationMethod, .text, [.connect, .connack, .auth]),
        PropertyRule(.authenticationData, .data, [.connect, .connack, .auth]),
        PropertyRule(.requestProblemInformation, .flag, .connect),
        PropertyRule(.willDelay, .four, .will),
        PropertyRule(.requestResponseInformation, .flag, .connect),
        PropertyRule(.responseInformation, .text, .connack),
        PropertyRule(.serverReference, .text, [.connack, .disconnect]),
        PropertyRule(
            .reasonString,
            .text,
            [.connack, .disconnect, .clientDisconnect, .auth, .acknowledgements]
        ),
        PropertyRule(.receiveMaximum, .two, [.connect, .connack], minimum: 1),
        PropertyRule(.topicAliasMaximum, .two, [.connect, .connack]),
        PropertyRule(.topicAlias, .two, .publish, minimum: 1),
        PropertyRule(.maximumQoS, .flag, .connack),
        PropertyRule(.retainAvailable, .flag, .connack),
        PropertyRule(.userProperty, .pair, .all, repeats: .all),
        PropertyRule(.maximumPacketSize, .four, [.connect, .connack], minimum: 1),
        PropertyRule(.wildcardAvailable, .flag, .connack),
        PropertyRule(.subscriptionIDsAvailable, .flag, .connack),
        PropertyRule(.sharedAvailable, .flag, .connack),
    ]

    /// The rules at the index of their identifiers.
    private static let indexed: [PropertyRule?] = (0...PropertyID.sharedAvailable.rawValue).map { id in
        rules.first { $0.id.rawValue == id }
    }

    /// Reads the length of the properties and the properties, and continues behind them.
    ///
    /// - Parameter packet: The kind of packet to which the properties belong: one member of the set.
    /// - Throws: A violation if a property is not allowed in the packet, occurs twice, or has no valid value, or if there
    ///   is authentication data without a method (MQTT 5.0, 3.1.2.11.10).
    @inline(__always)
    static func check(_ cursor: inout PacketCursor, for packet: PacketSet) throws(PacketViolation) -> PropertyBlock {
        let range = try cursor.take(try cursor.variable())
        if range.isEmpty { return PropertyBlock(range: range) }
        return try check(range, of: cursor.bytes, for: packet)
    }

    private static func check(
        _ range: Range<Int>,
        of bytes: UnsafeRawBufferPointer,
        for packet: PacketSet
    ) throws(PacketViolation) -> PropertyBlock {
        let rules = indexed
        var block = PropertyBlock(range: range)
        var cursor = PacketCursor(bytes, range)
        while cursor.remaining > 0 {
            let start = cursor.position
            let id = Int(try cursor.byte())
            guard id < rules.count, let rule = rules[id], rule.packets.contains(packet) else {
                throw PacketViolation(.property, at: start)
            }
            guard !block.contains(rule.id) || rule.repeats.contains(packet) else {
                throw PacketViolation(.repeatedProperty, at: start)
            }
            block.identifiers |= 1 << UInt64(id)
            let number = try check(rule, &cursor)
            switch rule.id {
            case .topicAlias: block.topicAlias = UInt16(truncatingIfNeeded: number)
            case .subscriptionID: if block.subscription == 0 { block.subscription = number }
            default: break
            }
        }
        if block.contains(.authenticationData), !block.contains(.authenticationMethod) {
            throw PacketViolation(.authentication, at: range.lowerBound)
        }
        return block
    }

    /// Returns the value of a number, or 0 for any other kind of property.
    @inline(__always)
    private static func check(_ rule: PropertyRule, _ cursor: inout PacketCursor) throws(PacketViolation) -> UInt32 {
        let start = cursor.position
        let value: UInt32
        switch rule.kind {
        case .byte, .flag: value = UInt32(try cursor.byte())
        case .two: value = UInt32(try cursor.two())
        case .four: value = try cursor.four()
        case .variable: value = UInt32(truncatingIfNeeded: try cursor.variable())
        case .data:
            _ = try cursor.data()
            return 0
        case .text:
            _ = try cursor.text()
            return 0
        case .pair:
            _ = try cursor.text()
            _ = try cursor.text()
            return 0
        }
        guard value >= rule.minimum, rule.kind != .flag || value <= 1 else {
            throw PacketViolation(rule.id == .topicAlias ? .topicAlias : .propertyValue, at: start)
        }
        return value
    }

    /// Calls `body` for each property of a range that ``check(_:for:)`` returned for the same bytes. For any other range,
    /// it ends at the first byte that is not part of a property, and the texts need not be UTF-8.
    static func each<E>(
        _ range: Range<Int>,
        of bytes: UnsafeRawBufferPointer,
        _ body: (PropertyValue) throws(E) -> Void
    ) throws(E) {
        var cursor = PacketCursor(bytes, range)
        while let value = next(&cursor) { try body(value) }
    }

    private static func next(_ cursor: inout PacketCursor) -> PropertyValue? {
        do throws(PacketViolation) {
            let index = Int(try cursor.byte())
            guard index < indexed.count, let rule = indexed[index] else { return nil }
            return switch rule.kind {
            case .byte, .flag: .number(rule.id, UInt32(try cursor.byte()))
            case .two: .number(rule.id, UInt32(try cursor.two()))
            case .four: .number(rule.id, try cursor.four())
            case .variable: .number(rule.id, UInt32(truncatingIfNeeded: try cursor.variable()))
            case .text: .text(rule.id, try cursor.data())
            case .data: .data(rule.id, try cursor.data())
            case .pair: .userProperty(name: try cursor.data(), value: try cursor.data())
            }
        } catch {
            return nil
        }
    }
}
