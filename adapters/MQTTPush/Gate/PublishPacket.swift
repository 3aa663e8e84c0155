/// A PUBLISH from a broker (MQTT 5.0, 3.3). Its ranges refer to the buffer of the ``PacketSplitter``.
struct PublishPacket: Equatable {
    /// The topic in the packet. It is empty if only a topic alias gives the topic, so read the topic with
    /// ``PacketChecker/withTopic(of:in:_:)``.
    let topic: Range<Int>
    /// The topic alias, or 0 if there is none.
    let alias: UInt16
    /// The first subscription identifier, or 0 if there is none (MQTT 5.0, 3.3.2.3.8).
    let subscription: UInt32
    /// The packet identifier, or 0 at QoS 0.
    let packet: UInt16
    let isRetained: Bool
    /// Whether the broker marks the message as sent before.
    let isDuplicate: Bool
    /// The properties without their length. The range is empty in MQTT 3.1.1.
    let properties: Range<Int>
    /// Whether the publisher has set any of the properties.
    let hasPublisherProperties: Bool
    let payload: Range<Int>

    /// The quality of service: 0 or 1.
    var qos: UInt8 { packet == 0 ? 0 : 1 }
}

extension PublishPacket {
    /// Reads a complete packet.
    ///
    /// - Parameter hasProperties: Whether the version is MQTT 5.
    @inline(__always)
    init(_ frame: PacketFrame, in bytes: UnsafeRawBufferPointer, hasProperties: Bool) throws(PacketViolation) {
        var cursor = PacketCursor(bytes, frame.body)
        (isRetained, isDuplicate) = (frame.first & 0x01 != 0, frame.first & 0x08 != 0)
        (topic, packet) = try PublishPacket.start(frame, &cursor)
        if hasProperties {
            let block = try PropertyTable.check(&cursor, for: .publish)
            properties = block.range
            alias = block.topicAlias
            subscription = block.subscription
            hasPublisherProperties = block.isPublishers
        } else {
            properties = Range(uncheckedBounds: (cursor.position, cursor.position))
            alias = 0
            subscription = 0
            hasPublisherProperties = false
        }
        payload = cursor.takeRemaining()
        guard !topic.isEmpty || alias != 0 else { throw PacketViolation(.emptyTopic, at: frame.body.lowerBound) }
    }

    /// Reads what was kept of a packet over the packet limit. Its payload may be cut off. Its properties are left out if
    /// they are cut off, too, because the publisher decides how many there are.
    ///
    /// - Returns: The packet, and the length of its whole payload.
    /// - Throws: A violation for the same reasons as for a complete packet, or if only the part that was cut off tells
    ///   the topic.
    static func oversized(
        _ frame: PacketFrame,
        in bytes: UnsafeRawBufferPointer,
        hasProperties: Bool
    ) throws(PacketViolation) -> (packet: PublishPacket, payloadLength: Int) {
        var cursor = PacketCursor(bytes, frame.body)
        let (topic, packet) = try start(frame, &cursor)
        let properties = hasProperties ? try cursor.variable() : 0
        let payload = cursor.position + properties
        let length = frame.body.lowerBound + frame.length - payload
        guard length >= 0 else { throw PacketViolation(.truncated, at: cursor.position) }
        if payload <= frame.body.upperBound {
            return (try PublishPacket(frame, in: bytes, hasProperties: hasProperties), length)
        }
        guard !topic.isEmpty else { throw PacketViolation(.packetSize, at: cursor.position) }
        return (PublishPacket(cut: frame, topic: topic, packet: packet), length)
    }

    /// - Parameter frame: A packet whose properties are cut off.
    private init(cut frame: PacketFrame, topic: Range<Int>, packet: UInt16) {
        let end = frame.body.upperBound
        self.topic = topic
        self.packet = packet
        (alias, subscription, hasPublisherProperties) = (0, 0, false)
        (isRetained, isDuplicate) = (frame.first & 0x01 != 0, frame.first & 0x08 != 0)
        (properties, payload) = (end..<end, end..<end)
    }

    /// Checks the flags, and reads the topic and the packet identifier.
    @inline(__always)
    private static func start(
        _ frame: PacketFrame,
        _ cursor: inout PacketCursor
    ) throws(PacketViolation) -> (topic: Range<Int>, packet: UInt16) {
        switch frame.first & 0x06 {
        case 0x00:
            // MQTT 5.0, 3.3.1.1: DUP is 0 at QoS 0.
            guard frame.first & 0x08 == 0 else { throw PacketViolation(.duplicateFlag, at: frame.start) }
            return (try cursor.text(), 0)
        case 0x02: return (try cursor.text(), try cursor.packetID())
        case 0x04: throw PacketViolation(.secondLevel, at: frame.start)
        default: throw PacketViolation(.qualityOfService, at: frame.start)
        }
    }
}

/// The topic aliases that a broker has set on one connection (MQTT 5.0, 3.3.2.3.4).
struct InboundAliases {
    /// The most aliases that a client announces. They hold at most 2 MiB of topics.
    static let most: UInt16 = 32

    private let maximum: UInt16
    /// The topics at the index of their alias minus 1. An empty topic is not set.
    private var topics: [[UInt8]] = []

    /// - Parameter maximum: The Topic Alias Maximum in CONNECT. It bounds the memory: 64 KiB per alias.
    init(maximum: UInt16) {
        self.maximum = maximum
    }

    /// Sets the packet's alias to its topic, or requires that the alias is set if the packet has no topic.
    ///
    /// - Parameter packet: A packet with an alias.
    mutating func use(_ packet: PublishPacket, in bytes: UnsafeRawBufferPointer) throws(PacketViolation) {
        guard packet.alias >= 1, packet.alias <= maximum else {
            throw PacketViolation(.topicAlias, at: packet.properties.lowerBound)
        }
        let index = Int(packet.alias) - 1
        if packet.topic.isEmpty {
            guard topics.indices.contains(index), !topics[index].isEmpty else {
                throw PacketViolation(.unsetAlias, at: packet.properties.lowerBound)
            }
            return
        }
        while topics.count <= index { topics.append([]) }
        if !isSet(index, to: packet.topic, of: bytes) { topics[index] = Array(bytes[packet.topic]) }
    }

    /// Whether an alias already has this topic: some brokers send both each time, which needs no other array.
    private func isSet(_ index: Int, to topic: Range<Int>, of bytes: UnsafeRawBufferPointer) -> Bool {
        guard topics[index].count == topic.count else { return false }
        return topics[index].withUnsafeBytes { known in
            for offset in 0..<known.count where known[offset] != bytes[topic.lowerBound &+ offset] { return false }
            return true
        }
    }

    /// The topic of an alias that ``use(_:in:)`` accepted. It is empty for any other alias.
    func topic(_ alias: UInt16) -> [UInt8] {
        let index = Int(alias) - 1
        return topics.indices.contains(index) ? topics[index] : []
    }
}
