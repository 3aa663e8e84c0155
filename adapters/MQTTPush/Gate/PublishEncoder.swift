/// Encodes the PUBLISH packets of one connection, and assigns topic aliases (MQTT 5.0, 3.3).
///
/// A topic alias is valid only on the connection on which it was defined (MQTT 5.0, 3.3.2.3.4), so each connection needs
/// its own encoder and one output. The output keeps the order of packets. An alias is therefore never used before the
/// packet that defines it.
struct PublishEncoder {
    /// What a PUBLISH says in addition to its message.
    struct Options {
        /// The packet identifier at QoS 1, or 0 at QoS 0.
        var packet: UInt16 = 0
        /// How long the message is still valid, or `nil` if there is no limit.
        var lifetime: Duration?
        /// Whether the message was sent before. At QoS 0, it has no effect (MQTT 5.0, 3.3.1.1).
        var isDuplicate = false
    }

    private let version: MQTTVersion
    private let packetLimit: UInt32
    private var aliases: OutboundAliases

    /// - Parameters:
    ///   - version: The protocol version of the connection.
    ///   - aliasMaximum: The server's topic alias maximum in CONNACK, or 0 if there is none (MQTT 5.0, 3.2.2.3.8).
    ///   - packetLimit: The server's maximum packet size in CONNACK, if there is one (MQTT 5.0, 3.2.2.3.6).
    init(version: MQTTVersion, aliasMaximum: UInt16 = 0, packetLimit: UInt32 = .max) {
        self.version = version
        self.packetLimit = packetLimit
        aliases = OutboundAliases(bound: version == .v5 ? aliasMaximum : 0)
    }

    /// Returns the size of the message's next PUBLISH, in bytes, including the fixed header.
    ///
    /// - Throws: What ``encode(_:_:into:)`` throws, except `outputFull`.
    func encodedLength(of message: MQTTMessage, _ options: Options) throws(PacketEncodingError) -> Int {
        try measure(message, options).packet.packetLength(atMost: packetLimit)
    }

    /// Adds a PUBLISH to the output. If this method throws an error, the output and the aliases are unchanged.
    ///
    /// - Parameters:
    ///   - message: A message that ``MQTTMessage/validate(for:)`` accepts. In MQTT 3.1.1, its properties are left out.
    ///   - output: The output of this encoder's connection.
    /// - Throws: `packetTooLarge` if the server does not accept a packet of this size, or `tooLong`, `nullCharacter`,
    ///   `invalid` or `outputFull`.
    mutating func encode(
        _ message: MQTTMessage,
        _ options: Options,
        into output: inout PacketOutput
    ) throws(PacketEncodingError) {
        let size = try measure(message, options)
        var first: UInt8 = message.retain ? 0x31 : 0x30
        if message.qos == .atLeastOnce { first |= options.isDuplicate ? 0x0A : 0x02 }
        try output.add(first, size.packet, packetLimit: packetLimit) { writer throws(PacketEncodingError) in
            if case .known = size.alias {
                // A topic without characters stands for the topic of the alias.
                writer.two(0)
            } else {
                try writer.text(message.topic, .topic)
            }
            if message.qos == .atLeastOnce { writer.two(options.packet) }
            if version == .v5 {
                writer.variable(UInt32(truncatingIfNeeded: size.properties))
                try PublishEncoder.writeProperties(of: message, options, size.alias, to: &writer)
            }
            writer.rest(message.payload)
        }
        aliases.use(size.alias, for: message.topic)
    }

    private struct Size {
        var alias: OutboundAliases.Choice
        var properties: Int
        var packet: PacketSize
    }

    private func measure(_ message: MQTTMessage, _ options: Options) throws(PacketEncodingError) -> Size {
        guard !message.topic.isEmpty else { throw .invalid(.emptyTopic) }
        guard (message.qos == .atMostOnce) == (options.packet == 0) else { throw .invalid(.packetIdentifier) }
        let size = try measure(message, options, aliases.alias(for: message.topic))
        // The definition of an alias must not be the reason why a message is too large.
        guard case .defined = size.alias, size.packet.length > Int(packetLimit) else { return size }
        return try measure(message, options, .none)
    }

    @inline(__always)
    private func measure(
        _ message: MQTTMessage,
        _ options: Options,
        _ alias: OutboundAliases.Choice
    ) throws(PacketEncodingError) -> Size {
        var packet = PacketSize()
        if case .known = alias { packet.two(0) } else { try packet.text(message.topic, .topic) }
        if message.qos == .atLeastOnce { packet.two(options.packet) }
        var properties = PacketSize()
        if version == .v5 {
            try PublishEncoder.writeProperties(of: message, options, alias, to: &properties)
            packet.block(properties)
        }
        packet.rest(message.payload)
        return Size(alias: alias, properties: properties.count, packet: packet)
    }

    /// Writes the properties (MQTT 5.0, 3.3.2.3).
    @inline(__always)
    private static func writeProperties(
        of message: MQTTMessage,
        _ options: Options,
        _ alias: OutboundAliases.Choice,
        to fields: inout some PacketFields
    ) throws(PacketEncodingError) {
        try fields.property(.responseTopic, text: message.responseTopic, .responseTopic)
        try fields.property(.contentType, text: message.contentType, .contentType)
        try fields.property(.correlationData, data: message.correlation, .correlation)
        fields.property(.messageExpiry, four: options.lifetime.map(seconds))
        fields.property(.payloadFormat, byte: message.isText ? 1 : nil)
        switch alias {
        case .none: break
        case .known(let index), .defined(let index):
            fields.property(.topicAlias, two: UInt16(truncatingIfNeeded: index &+ 1))
        }
        if !message.userProperties.isEmpty { try fields.userProperties(message.userProperties) }
    }

    /// Returns the time in whole seconds, rounded up and at least 1, because a message that has expired is not sent.
    private static func seconds(of lifetime: Duration) -> UInt32 {
        guard lifetime < .seconds(4_294_967_295) else { return .max }
        guard lifetime > .seconds(1) else { return 1 }
        let (seconds, rest) = lifetime.components
        return UInt32(clamping: seconds + (rest > 0 ? 1 : 0))
    }
}

/// The topics to which a connection has assigned aliases, of which the least recently used one is replaced first.
private struct OutboundAliases {
    /// What a PUBLISH says about an alias, as an index, which is one less than the alias.
    enum Choice {
        /// The packet has the topic and no alias.
        case none
        /// The packet has the alias in place of the topic.
        case known(Int)
        /// The packet has both, so that the server remembers the topic.
        case defined(Int)
    }

    /// The most aliases that a connection uses. They hold at most 2 MiB of topics.
    private static let most: UInt16 = 32
    /// A shorter topic is sent in full, because an alias has three bytes and must be defined first.
    private static let leastBytes = 8

    private let bound: Int
    private var topics: [String] = []
    /// A number for each topic that differs for most topics, so that a search compares few texts.
    private var keys: [UInt64] = []
    /// When each topic was last used, as the number of uses before it.
    private var lastUse: [UInt64] = []
    private var uses: UInt64 = 0

    init(bound: UInt16) {
        self.bound = Int(min(bound, OutboundAliases.most))
    }

    /// Returns what the next packet with a topic says about its alias. The state changes only in ``use(_:for:)``.
    @inline(__always)
    func alias(for topic: String) -> Choice {
        guard bound > 0, topic.utf8.count >= OutboundAliases.leastBytes else { return .none }
        return find(topic)
    }

    @inline(never)
    private func find(_ topic: String) -> Choice {
        let key = OutboundAliases.key(of: topic)
        // Equal strings can have different bytes, which the protocol treats as different topics (MQTT 5.0, 4.7.3).
        for index in keys.indices where keys[index] == key && OutboundAliases.isSame(topics[index], topic) {
            return .known(index)
        }
        if topics.count < bound { return .defined(topics.count) }
        var oldest = 0
        for index in lastUse.indices where lastUse[index] < lastUse[oldest] { oldest = index }
        return .defined(oldest)
    }

    /// Records that a packet with this choice is in the output.
    @inline(__always)
    mutating func use(_ choice: Choice, for topic: String) {
        switch choice {
        case .none: return
        case .known(let index):
            uses &+= 1
            lastUse[index] = uses
        case .defined(let index): define(index, topic)
        }
    }

    private mutating func define(_ index: Int, _ topic: String) {
        uses &+= 1
        let key = OutboundAliases.key(of: topic)
        if index == topics.count {
            topics.append(topic)
            keys.append(key)
            lastUse.append(uses)
        } else {
            topics[index] = topic
            keys[index] = key
            lastUse[index] = uses
        }
    }

    private static func isSame(_ one: String, _ other: String) -> Bool {
        one.withBytes { one in
            other.withBytes { other in
                guard one.count == other.count else { return false }
                var index = 0
                while one.count &- index >= 8 {
                    let word = one.loadUnaligned(fromByteOffset: index, as: UInt64.self)
                    guard word == other.loadUnaligned(fromByteOffset: index, as: UInt64.self) else { return false }
                    index &+= 8
                }
                while index < one.count, one[index] == other[index] { index &+= 1 }
                return index == one.count
            }
        }
    }

    /// Mixes the length and all bytes, eight at a time.
    private static func key(of topic: String) -> UInt64 {
        topic.withBytes { bytes in
            var key = UInt64(truncatingIfNeeded: bytes.count)
            var index = 0
            while bytes.count &- index >= 8 {
                key = (key ^ bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)) &* 0x9E37_79B9_7F4A_7C15
                key ^= key >> 32
                index &+= 8
            }
            while index < bytes.count {
                key = (key ^ UInt64(bytes[index])) &* 0x0000_0100_0000_01B3
                index &+= 1
            }
            return key
        }
    }
}
