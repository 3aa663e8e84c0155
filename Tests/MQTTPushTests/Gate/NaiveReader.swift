@testable import MQTTPush

/// A second reader of a broker's packets, written from the specifications with copies and without regard to speed. It
/// shares no code with the checker.
struct NaiveReader {
    struct Refused: Error {}

    enum Phase { case connecting, open, ended }

    /// A property and its fields: numbers as their bytes, a pair as two texts.
    struct Property {
        let id: UInt8
        let fields: [[UInt8]]
        var number: Int { fields[0].reduce(0) { $0 << 8 | Int($1) } }
    }

    let version: MQTTVersion
    var phase: Phase
    var method: String?
    var subscribes: [Int: Int] = [:]
    var unsubscribes: [Int: Int] = [:]
    var pings = 0
    var aliasMaximum = 0
    var aliases: [Int: [UInt8]] = [:]

    /// Returns a description of each packet, and how the stream ends.
    mutating func read(_ stream: [UInt8]) -> [String] {
        var readings: [String] = []
        var rest = stream
        do {
            while !rest.isEmpty {
                guard let (header, length) = try Self.header(rest), rest.count >= header + length else {
                    return readings + ["incomplete"]
                }
                readings.append(try packet(rest[0], Array(rest[header..<header + length])))
                rest = Array(rest[(header + length)...])
            }
        } catch {
            return readings + ["violation"]
        }
        return readings + ["complete"]
    }

    private static func header(_ bytes: [UInt8]) throws -> (Int, Int)? {
        let digits = bytes.dropFirst().prefix(4)
        guard let last = digits.firstIndex(where: { $0 < 128 }) else {
            if digits.count == 4 { throw Refused() }
            return nil
        }
        var tail = Array(bytes[1...last])
        return (last + 1, try integer(&tail))
    }

    /// Takes a variable byte integer from the front.
    private static func integer(_ bytes: inout [UInt8]) throws -> Int {
        guard let last = bytes.prefix(4).firstIndex(where: { $0 < 128 }) else { throw Refused() }
        let digits = bytes[0...last]
        let value = digits.reversed().reduce(0) { $0 * 128 + Int($1 % 128) }
        guard digits.count == 1 || value >= [0, 0, 128, 16_384, 2_097_152][digits.count] else { throw Refused() }
        bytes.removeFirst(digits.count)
        return value
    }

    private static func take(_ count: Int, _ bytes: inout [UInt8]) throws -> [UInt8] {
        guard bytes.count >= count else { throw Refused() }
        defer { bytes.removeFirst(count) }
        return Array(bytes.prefix(count))
    }

    private static func number(_ size: Int, _ bytes: inout [UInt8]) throws -> Int {
        try take(size, &bytes).reduce(0) { $0 * 256 + Int($1) }
    }

    private static func data(_ bytes: inout [UInt8]) throws -> [UInt8] {
        try take(try number(2, &bytes), &bytes)
    }

    private static func text(_ bytes: inout [UInt8]) throws -> [UInt8] {
        let text = try data(&bytes)
        guard !text.contains(0), String(validating: text, as: UTF8.self) != nil else { throw Refused() }
        return text
    }

    private static func identifier(_ bytes: inout [UInt8]) throws -> Int {
        let id = try number(2, &bytes)
        guard id != 0 else { throw Refused() }
        return id
    }
}

// MARK: - Packets

extension NaiveReader {
    private mutating func packet(_ first: UInt8, _ body: [UInt8]) throws -> String {
        let (type, flags) = (first / 16, first % 16)
        let isEarly = type == 2 || type == 15
        guard phase == .connecting ? isEarly : phase == .open && type != 2, type == 3 || flags == 0 else {
            throw Refused()
        }
        var rest = body
        switch type {
        case 2: return try connack(&rest)
        case 3: return try publish(flags, &rest)
        case 4: return try puback(&rest)
        case 9: return try suback(&rest)
        case 11: return try unsuback(&rest)
        case 13: return try pingResponse(rest)
        case 14 where version == .v5: return try disconnect(&rest)
        case 15 where version == .v5: return try auth(&rest)
        default: throw Refused()
        }
    }

    private mutating func connack(_ rest: inout [UInt8]) throws -> String {
        let (flags, code) = (try Self.number(1, &rest), try Self.number(1, &rest))
        guard flags == 0 || flags == 1 && code == 0 else { throw Refused() }
        phase = code == 0 ? .open : .ended
        guard version == .v5, !(code == 1 && rest.isEmpty) else {
            guard rest.isEmpty else { throw Refused() }
            return "connack \([0, 132, 133, 136, 134, 135, 128][min(code, 6)]) \(flags == 1) []"
        }
        guard code == 0 || code >= 128 else { throw Refused() }
        let properties = try Self.properties(&rest, "CONNACK")
        let sent = properties.first { $0.id == 0x15 }?.fields[0]
        guard rest.isEmpty, sent == method.map({ Array($0.utf8) }) || sent == nil && code != 0 else { throw Refused() }
        let isDefault: (Property) -> Bool = { property in
            switch property.id {
            case 0x12, 0x15, 0x1A, 0x1F, 0x26: true
            case 0x21: property.number == 65_535
            case 0x22: property.number == 0
            case 0x25, 0x28, 0x29, 0x2A: property.number == 1
            default: false
            }
        }
        let kept = properties.filter { !isDefault($0) }.sorted { $0.id < $1.id }
        return "connack \(code) \(flags == 1) \(kept.map { "\($0.id) \($0.fields[0])" })"
    }

    private mutating func publish(_ flags: UInt8, _ rest: inout [UInt8]) throws -> String {
        let (isRetained, qos, isDuplicate) = (flags % 2 == 1, flags / 2 % 4, flags >= 8)
        guard qos == 1 || qos == 0 && !isDuplicate else { throw Refused() }
        var topic = try Self.text(&rest)
        let id = qos == 1 ? try Self.identifier(&rest) : 0
        var block: [UInt8] = []
        if version == .v5 {
            var copy = rest
            block = try Self.take(try Self.integer(&copy), &copy)
            if let alias = try Self.properties(&rest, "PUBLISH").first(where: { $0.id == 0x23 })?.number {
                guard alias <= aliasMaximum else { throw Refused() }
                if !topic.isEmpty { aliases[alias] = topic }
                topic = aliases[alias] ?? []
            }
        }
        guard !topic.isEmpty else { throw Refused() }
        return "publish \(topic) \(qos) \(id) \(isRetained) \(isDuplicate) \(block) \(rest)"
    }

    private func puback(_ rest: inout [UInt8]) throws -> String {
        let id = try Self.identifier(&rest)
        guard version == .v5, !rest.isEmpty else {
            guard rest.isEmpty else { throw Refused() }
            return "puback \(id) 0"
        }
        let code = try Self.number(1, &rest)
        if !rest.isEmpty { _ = try Self.properties(&rest, "PUBACK") }
        guard rest.isEmpty else { throw Refused() }
        return "puback \(id) \(code)"
    }

    private mutating func suback(_ rest: inout [UInt8]) throws -> String {
        let id = try Self.identifier(&rest)
        if version == .v5 { _ = try Self.properties(&rest, "SUBACK") }
        let failures: ClosedRange<UInt8> = version == .v5 ? 128...255 : 128...128
        guard !rest.isEmpty, rest.allSatisfy({ $0 < 3 || failures.contains($0) }) else { throw Refused() }
        guard let filters = subscribes.removeValue(forKey: id) else { return "ignored" }
        guard filters == rest.count else { throw Refused() }
        return "suback \(id) \(rest)"
    }

    private mutating func unsuback(_ rest: inout [UInt8]) throws -> String {
        let id = try Self.identifier(&rest)
        if version == .v5 {
            _ = try Self.properties(&rest, "UNSUBACK")
            guard !rest.isEmpty else { throw Refused() }
        } else if !rest.isEmpty {
            throw Refused()
        }
        guard let filters = unsubscribes.removeValue(forKey: id) else { return "ignored" }
        guard version == .v5 else { return "unsuback \(id) \([UInt8](repeating: 0, count: filters))" }
        guard filters == rest.count else { throw Refused() }
        return "unsuback \(id) \(rest)"
    }

    private mutating func pingResponse(_ rest: [UInt8]) throws -> String {
        guard rest.isEmpty else { throw Refused() }
        pings -= 1
        return pings >= 0 ? "pong" : "ignored"
    }

    private mutating func disconnect(_ rest: inout [UInt8]) throws -> String {
        let code = rest.isEmpty ? 0 : try Self.number(1, &rest)
        guard code == 0 || code >= 128 else { throw Refused() }
        let properties = rest.isEmpty ? [] : try Self.properties(&rest, "DISCONNECT")
        guard rest.isEmpty else { throw Refused() }
        phase = .ended
        return "disconnect \(code) \(properties.first { $0.id == 0x1C }?.fields[0] ?? [])"
    }

    private func auth(_ rest: inout [UInt8]) throws -> String {
        guard let method, phase == .connecting, try Self.number(1, &rest) == 0x18 else { throw Refused() }
        let properties = try Self.properties(&rest, "AUTH")
        guard rest.isEmpty, properties.first(where: { $0.id == 0x15 })?.fields[0] == Array(method.utf8) else {
            throw Refused()
        }
        return "auth 24 \(Array(method.utf8)) \(properties.first { $0.id == 0x16 }?.fields[0] ?? [])"
    }
}

// MARK: - Properties

extension NaiveReader {
    /// MQTT 5.0, table 2-4: identifier, type, packets. A DISCONNECT is the server's unless it says otherwise.
    static let table: [UInt8: (form: String, packets: Set<String>)] = {
        let every = "CONNECT WILL CONNACK PUBLISH PUBACK PUBREC PUBREL PUBCOMP SUBSCRIBE SUBACK UNSUBSCRIBE UNSUBACK "
        let lines = """
            01 byte PUBLISH WILL
            02 four PUBLISH WILL
            03 text PUBLISH WILL
            08 text PUBLISH WILL
            09 data PUBLISH WILL
            0B variable PUBLISH SUBSCRIBE
            11 four CONNECT CONNACK CLIENTDISCONNECT
            12 text CONNACK
            13 two CONNACK
            15 text CONNECT CONNACK AUTH
            16 data CONNECT CONNACK AUTH
            17 flag CONNECT
            18 four WILL
            19 flag CONNECT
            1A text CONNACK
            1C text CONNACK DISCONNECT
            1F text CONNACK PUBACK PUBREC PUBREL PUBCOMP SUBACK UNSUBACK DISCONNECT CLIENTDISCONNECT AUTH
            21 two CONNECT CONNACK
            22 two CONNECT CONNACK
            23 two PUBLISH
            24 flag CONNACK
            25 flag CONNACK
            26 pair \(every)DISCONNECT CLIENTDISCONNECT AUTH
            27 four CONNECT CONNACK
            28 flag CONNACK
            29 flag CONNACK
            2A flag CONNACK
            """
        var table: [UInt8: (form: String, packets: Set<String>)] = [:]
        for line in lines.split(separator: "\n") {
            let words = line.split(separator: " ").map(String.init)
            if let id = UInt8(words[0], radix: 16) { table[id] = (words[1], Set(words[2...])) }
        }
        return table
    }()

    /// Takes the length of the properties and the properties from the front.
    static func properties(_ bytes: inout [UInt8], _ packet: String) throws -> [Property] {
        var block = try take(try integer(&bytes), &bytes)
        var properties: [Property] = []
        while let id = block.first {
            block.removeFirst()
            guard let row = table[id], row.packets.contains(packet) else { throw Refused() }
            let mayRepeat = id == 0x26 || id == 0x0B && packet == "PUBLISH"
            guard mayRepeat || !properties.contains(where: { $0.id == id }) else { throw Refused() }
            let property = Property(id: id, fields: try fields(row.form, &block))
            let isPositive = [0x0B, 0x21, 0x23, 0x27].contains(id)
            guard !isPositive || property.number > 0, row.form != "flag" || property.number < 2 else { throw Refused() }
            properties.append(property)
        }
        let ids = properties.map(\.id)
        guard !ids.contains(0x16) || ids.contains(0x15) else { throw Refused() }
        return properties
    }

    private static func fields(_ form: String, _ block: inout [UInt8]) throws -> [[UInt8]] {
        switch form {
        case "byte", "flag": return [try take(1, &block)]
        case "two": return [try take(2, &block)]
        case "four": return [try take(4, &block)]
        case "variable":
            let value = try integer(&block)
            return [(0..<4).map { UInt8(value >> (24 - 8 * $0) & 0xFF) }]
        case "text": return [try text(&block)]
        case "data": return [try data(&block)]
        default: return [try text(&block), try text(&block)]
        }
    }
}
