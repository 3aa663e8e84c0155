import TestSupport

@testable import MQTTPush

/// A packet as a server reads it.
///
/// The reader copies everything, uses none of the encoders' code, and reports everything that a server must treat as a
/// malformed packet.
struct ServerPacket: Equatable {
    /// The value of a property.
    enum Value: Equatable {
        case number(UInt32)
        case text(String)
        case data([UInt8])
        case pair(String, String)
    }

    struct Property: Equatable {
        let id: UInt8
        let value: Value
    }

    var type: UInt8
    var flags: UInt8
    var packet: UInt16 = 0
    var reason: UInt8 = 0
    var properties: [Property] = []
    var topic: [UInt8] = []
    var payload: [UInt8] = []
    var filters: [[UInt8]] = []
    var options: [UInt8] = []
    // CONNECT
    var level: UInt8 = 0
    var connectFlags: UInt8 = 0
    var keepalive: UInt16 = 0
    var clientID: [UInt8] = []
    var willProperties: [Property] = []
    var userName: [UInt8]?
    var password: [UInt8]?
}

/// Reads what a client wrote.
struct ServerPacketReader {
    struct Malformed: Error, Equatable {
        let reason: String
    }

    private var bytes: ArraySlice<UInt8>
    private let version: MQTTVersion

    init(_ bytes: [UInt8], version: MQTTVersion) {
        self.bytes = bytes[...]
        self.version = version
    }

    static func packets(_ bytes: [UInt8], version: MQTTVersion) throws -> [ServerPacket] {
        var reader = ServerPacketReader(bytes, version: version)
        var packets: [ServerPacket] = []
        while !reader.bytes.isEmpty { packets.append(try reader.packet()) }
        return packets
    }

    private mutating func packet() throws -> ServerPacket {
        let first = try byte()
        let length = try variable()
        guard length <= bytes.count else { throw Malformed(reason: "remaining length") }
        let rest = bytes.dropFirst(length)
        bytes = bytes.prefix(length)
        var packet = ServerPacket(type: first >> 4, flags: first & 15)
        try readContent(of: &packet)
        guard bytes.isEmpty else { throw Malformed(reason: "trailing bytes in type \(packet.type)") }
        bytes = rest
        return packet
    }

    private mutating func readContent(of packet: inout ServerPacket) throws {
        switch packet.type {
        case 1: try readConnect(&packet)
        case 3: try readPublish(&packet)
        case 4: packet.packet = try two()
        case 8, 10: try readFilters(&packet)
        case 12: break
        case 14, 15:
            guard version == .v5 || bytes.isEmpty else { throw Malformed(reason: "3.1.1 DISCONNECT with content") }
            if !bytes.isEmpty { packet.reason = try byte() }
            if !bytes.isEmpty { packet.properties = try properties() }
        default: throw Malformed(reason: "type \(packet.type)")
        }
        let flags: UInt8 = packet.type == 8 || packet.type == 10 ? 2 : 0
        guard packet.type == 3 || packet.flags == flags else { throw Malformed(reason: "flags") }
    }

    private mutating func readConnect(_ packet: inout ServerPacket) throws {
        guard try text() == Array("MQTT".utf8) else { throw Malformed(reason: "protocol name") }
        packet.level = try byte()
        packet.connectFlags = try byte()
        packet.keepalive = try two()
        if version == .v5 { packet.properties = try properties() }
        packet.clientID = try text()
        if packet.connectFlags & 0x04 != 0 {
            if version == .v5 { packet.willProperties = try properties() }
            packet.topic = try text()
            packet.payload = try data()
        } else if packet.connectFlags & 0x38 != 0 {
            throw Malformed(reason: "will flags without a will")
        }
        if packet.connectFlags & 0x80 != 0 { packet.userName = try text() }
        if packet.connectFlags & 0x40 != 0 { packet.password = try data() }
        guard packet.connectFlags & 1 == 0 else { throw Malformed(reason: "reserved flag") }
    }

    private mutating func readPublish(_ packet: inout ServerPacket) throws {
        packet.topic = try text()
        let qos = packet.flags >> 1 & 3
        guard qos < 2, qos > 0 || packet.flags & 8 == 0 else { throw Malformed(reason: "QoS and DUP") }
        if qos > 0 {
            packet.packet = try two()
            guard packet.packet > 0 else { throw Malformed(reason: "packet identifier") }
        }
        if version == .v5 { packet.properties = try properties() }
        packet.payload = Array(bytes)
        bytes = []
    }

    private mutating func readFilters(_ packet: inout ServerPacket) throws {
        packet.packet = try two()
        guard packet.packet > 0 else { throw Malformed(reason: "packet identifier") }
        if version == .v5 { packet.properties = try properties() }
        repeat {
            packet.filters.append(try text())
            if packet.type == 8 { packet.options.append(try byte()) }
        } while !bytes.isEmpty
    }

    private mutating func properties() throws -> [ServerPacket.Property] {
        let length = try variable()
        guard length <= bytes.count else { throw Malformed(reason: "property length") }
        let end = bytes.startIndex + length
        var list: [ServerPacket.Property] = []
        while bytes.startIndex < end {
            let id = try byte()
            guard id == 0x26 || !list.contains(where: { $0.id == id }) else { throw Malformed(reason: "twice \(id)") }
            list.append(.init(id: id, value: try value(of: id)))
        }
        guard bytes.startIndex == end else { throw Malformed(reason: "property length") }
        return list
    }

    private mutating func value(of id: UInt8) throws -> ServerPacket.Value {
        switch id {
        case 0x01, 0x17, 0x19: .number(UInt32(try byte()))
        case 0x21, 0x22, 0x23: .number(UInt32(try two()))
        case 0x02, 0x11, 0x18, 0x27: .number(UInt32(try two()) << 16 | UInt32(try two()))
        case 0x0B: .number(UInt32(try variable()))
        case 0x03, 0x08, 0x15, 0x1F: .text(String(decoding: try text(), as: UTF8.self))
        case 0x09, 0x16: .data(try data())
        case 0x26: .pair(String(decoding: try text(), as: UTF8.self), String(decoding: try text(), as: UTF8.self))
        default: throw Malformed(reason: "property \(id)")
        }
    }

    private mutating func byte() throws -> UInt8 {
        guard let byte = bytes.popFirst() else { throw Malformed(reason: "truncated") }
        return byte
    }

    private mutating func two() throws -> UInt16 { UInt16(try byte()) << 8 | UInt16(try byte()) }

    private mutating func variable() throws -> Int {
        var value = 0
        for shift in [0, 7, 14, 21] {
            let byte = try byte()
            value |= Int(byte & 0x7F) << shift
            guard byte & 0x80 == 0 else { continue }
            guard byte != 0 || shift == 0 else { throw Malformed(reason: "not the shortest form") }
            return value
        }
        throw Malformed(reason: "variable byte integer")
    }

    private mutating func data() throws -> [UInt8] {
        let length = Int(try two())
        guard length <= bytes.count else { throw Malformed(reason: "truncated") }
        defer { bytes = bytes.dropFirst(length) }
        return Array(bytes.prefix(length))
    }

    private mutating func text() throws -> [UInt8] {
        let data = try data()
        guard !data.contains(0), String(validating: data, as: UTF8.self) != nil else {
            throw Malformed(reason: "text")
        }
        return data
    }
}

extension PacketOutput {
    /// Removes and returns all bytes.
    mutating func take() -> [UInt8] {
        let bytes = withBytes { Array($0) }
        removeFirst(bytes.count)
        return bytes
    }
}

/// Returns the bytes that a closure adds to an empty output.
func encoded(
    _ body: (inout PacketOutput) throws(PacketEncodingError) -> Void
) throws(PacketEncodingError) -> [UInt8] {
    var output = PacketOutput()
    try body(&output)
    return output.take()
}

/// SeededGenerator (Steele, Lea, Flood, 2014).
struct PacketGenerator: RandomNumberGenerator {
    var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &self) }

    mutating func chance(_ percent: Int) -> Bool { number(1...100) <= percent }

    /// A text of characters with one to four bytes.
    mutating func text(_ characters: ClosedRange<Int>) -> String {
        let alphabet: [Character] = ["a", "Z", "7", "/", "-", "é", "ß", "€", "水", "😀"]
        return String((0..<number(characters)).map { _ in alphabet[number(0...9)] })
    }

    mutating func data(_ count: ClosedRange<Int>) -> [UInt8] {
        (0..<number(count)).map { _ in UInt8(truncatingIfNeeded: next()) }
    }
}
