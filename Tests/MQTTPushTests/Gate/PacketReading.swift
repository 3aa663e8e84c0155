@testable import MQTTPush

/// Reads a stream with ``PacketSplitter`` and ``PacketChecker``, and describes what they return as ``NaiveReader`` does.
struct PacketReading {
    /// The descriptions of the packets, and how the stream ends.
    private(set) var texts: [String] = []
    private(set) var violation: PacketViolation?
    /// The largest size that the buffer had.
    private(set) var size = 0
    /// Whether a range of a packet was outside of the packet.
    private(set) var hasForeignRange = false

    /// - Parameters:
    ///   - pieces: The most bytes of each read, in turn. Reads are as large as possible if this is empty.
    ///   - capacity: The buffer's capacity, or `nil` for the size of the stream.
    init(
        _ stream: [UInt8],
        _ checker: PacketChecker,
        pieces: [Int] = [],
        limit: Int = 1 << 20,
        capacity: Int? = nil
    ) {
        var checker = checker
        var splitter = PacketSplitter(packetLimit: limit, capacity: capacity ?? max(stream.count, 8))
        var offset = 0
        var turn = 0
        do throws(PacketViolation) {
            while offset < stream.count {
                let piece = pieces.isEmpty ? stream.count : max(pieces[turn % pieces.count], 1)
                turn += 1
                _ = splitter.fill { space in
                    let count = min(space.count, piece, stream.count - offset)
                    for index in 0..<count { space[index] = stream[offset + index] }
                    offset += count
                    return count
                }
                size = max(size, splitter.size)
                while let frame = try splitter.next() {
                    let text = try splitter.withBytes { (bytes) throws(PacketViolation) in
                        let packet = try checker.check(frame, in: bytes)
                        guard packet.ranges.allSatisfy({ $0.isWithin(frame.body) }) else { return "" }
                        return PacketReading.describe(packet, bytes, checker)
                    }
                    hasForeignRange = hasForeignRange || text.isEmpty
                    texts.append(text)
                }
            }
            texts.append(splitter.hasBytes ? "incomplete" : "complete")
        } catch {
            violation = error
            texts.append("violation")
        }
    }

    static func describe(_ packet: InboundPacket, _ bytes: UnsafeRawBufferPointer, _ checker: PacketChecker) -> String {
        switch packet {
        case .connack(let connack):
            return "connack \(connack.code.rawValue) \(connack.isSessionPresent) \(describe(connack, bytes))"
        case .publish(let publish): return describe(publish, bytes, checker)
        case .oversized(let publish, let length):
            return "oversized \(length) " + describe(publish, bytes, checker)
        case .puback(let packet, let code): return "puback \(packet) \(code.rawValue)"
        case .suback(let packet, let codes): return "suback \(packet) \(codes.map(\.rawValue))"
        case .unsuback(let packet, let codes): return "unsuback \(packet) \(codes.map(\.rawValue))"
        case .pong: return "pong"
        case .disconnect(let code, let reference):
            return "disconnect \(code.rawValue) \(Array((reference ?? "").utf8))"
        case .auth(let code, let method, let data):
            return "auth \(code.rawValue) \(Array(method.utf8)) \(data.map { Array(bytes[$0]) } ?? [])"
        case .ignored: return "ignored"
        }
    }

    private static func describe(
        _ publish: PublishPacket,
        _ bytes: UnsafeRawBufferPointer,
        _ checker: PacketChecker
    ) -> String {
        let topic = checker.withTopic(of: publish, in: bytes) { Array($0) }
        let flags = "\(publish.isRetained) \(publish.isDuplicate)"
        let (properties, payload) = (Array(bytes[publish.properties]), Array(bytes[publish.payload]))
        return "publish \(topic) \(publish.qos) \(publish.packet) \(flags) \(properties) \(payload)"
    }

    private static func describe(_ connack: Connack, _ bytes: UnsafeRawBufferPointer) -> [String] {
        var values: [String] = []
        func add(_ id: PropertyID, _ value: (some FixedWidthInteger)?) {
            guard let value else { return }
            values.append("\(id.rawValue) \(withUnsafeBytes(of: value.bigEndian) { Array($0) })")
        }
        func addFalse(_ id: PropertyID, _ value: Bool) { add(id, value ? nil : UInt8(0)) }
        add(.sessionExpiry, connack.sessionExpiry)
        add(.serverKeepAlive, connack.serverKeepAlive)
        if let range = connack.authenticationData { values.append("22 \(Array(bytes[range]))") }
        if let text = connack.serverReference { values.append("28 \(Array(text.utf8))") }
        add(.receiveMaximum, connack.receiveMaximum == 65_535 ? nil : connack.receiveMaximum)
        add(.topicAliasMaximum, connack.topicAliasMaximum == 0 ? nil : connack.topicAliasMaximum)
        add(.maximumQoS, connack.maximumQoS == 2 ? nil : connack.maximumQoS)
        addFalse(.retainAvailable, connack.isRetainAvailable)
        add(.maximumPacketSize, connack.maximumPacketSize)
        addFalse(.wildcardAvailable, connack.isWildcardAvailable)
        addFalse(.subscriptionIDsAvailable, connack.areSubscriptionIDsAvailable)
        addFalse(.sharedAvailable, connack.areSharedSubscriptionsAvailable)
        return values
    }
}

extension InboundPacket {
    /// The ranges of the buffer that the packet refers to.
    fileprivate var ranges: [Range<Int>] {
        switch self {
        case .publish(let packet), .oversized(let packet, _): [packet.topic, packet.properties, packet.payload]
        case .connack(let connack): connack.authenticationData.map { [$0] } ?? []
        case .auth(_, _, let data): data.map { [$0] } ?? []
        default: []
        }
    }
}

extension Range<Int> {
    fileprivate func isWithin(_ other: Range<Int>) -> Bool {
        other.lowerBound <= lowerBound && lowerBound <= upperBound && upperBound <= other.upperBound
    }
}

extension SpecificationPacket.Phase {
    /// A checker in this phase.
    ///
    /// - Parameter hasAliases: Whether CONNECT of MQTT 5 allows topic aliases.
    func checker(_ version: MQTTVersion, hasAliases: Bool = true) -> PacketChecker {
        let aliasMaximum = version == .v5 && hasAliases ? Wire.aliasMaximum : 0
        var checker = PacketChecker(
            version: version,
            aliasMaximum: aliasMaximum,
            authMethod: self == .authenticating ? "M" : nil
        )
        guard self == .open else { return checker }
        var prelude = version == .v5 ? [Wire.packet(0x20, [0, 0, 0])] : [Wire.packet(0x20, [0, 0])]
        if aliasMaximum > 0 { prelude.append(Wire.packet(0x30, Wire.data(Wire.aliasedTopic) + [3, 0x23, 0, 2])) }
        for packet in prelude {
            let frame = PacketFrame(first: packet[0], body: 2..<packet.count, length: packet.count - 2)
            _ = try? packet.withUnsafeBytes { (bytes) throws(PacketViolation) in try checker.check(frame, in: bytes) }
        }
        for (packet, filters) in Wire.requests.subscribe { checker.expectSuback(packet, filters: filters) }
        for (packet, filters) in Wire.requests.unsubscribe { checker.expectUnsuback(packet, filters: filters) }
        checker.expectPingResponse()
        return checker
    }

    /// The second reader in this phase.
    ///
    /// - Parameter hasAliases: Whether CONNECT of MQTT 5 allows topic aliases.
    func naive(_ version: MQTTVersion, hasAliases: Bool = true) -> NaiveReader {
        var reader = NaiveReader(version: version, phase: self == .open ? .open : .connecting)
        if self == .authenticating { reader.method = "M" }
        reader.aliasMaximum = version == .v5 && hasAliases ? Int(Wire.aliasMaximum) : 0
        guard self == .open else { return reader }
        for (packet, filters) in Wire.requests.subscribe { reader.subscribes[Int(packet)] = filters }
        for (packet, filters) in Wire.requests.unsubscribe { reader.unsubscribes[Int(packet)] = filters }
        reader.pings = 1
        if reader.aliasMaximum > 0 { reader.aliases = [2: Wire.aliasedTopic] }
        return reader
    }
}
