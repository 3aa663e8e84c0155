@testable import MQTTPush

/// A packet that a broker may send, and what it means.
struct SpecificationPacket: Sendable, CustomStringConvertible {
    /// What the connection is when the packet arrives.
    enum Phase: Sendable, CaseIterable {
        /// CONNECT was sent.
        case connecting
        /// CONNECT was sent, with the authentication method `M`.
        case authenticating
        /// CONNACK arrived. A PINGREQ and the requests of ``Wire/requests`` are open, and the alias 2 of four is set.
        case open
    }

    let name: String
    let version: MQTTVersion
    let phase: Phase
    let bytes: [UInt8]
    /// The reading of ``Wire/describe(_:_:_:)``.
    let reading: String

    var description: String { "\(name), \(version.rawValue)" }

    /// - Parameter body: The bytes behind the fixed header.
    init(_ name: String, _ version: MQTTVersion, _ phase: Phase, _ first: UInt8, _ body: [UInt8], _ reading: String) {
        self.name = name
        self.version = version
        self.phase = phase
        self.reading = reading
        bytes = Wire.packet(first, body)
    }
}

/// Bytes of MQTT.
enum Wire {
    static let requests: (subscribe: [UInt16: Int], unsubscribe: [UInt16: Int]) = ([10: 1, 11: 3], [20: 1, 21: 2])
    static let aliasMaximum: UInt16 = 4
    static let aliasedTopic = Array("set/topic".utf8)

    static func packet(_ first: UInt8, _ body: [UInt8]) -> [UInt8] { [first] + integer(body.count) + body }

    /// A variable byte integer.
    static func integer(_ value: Int) -> [UInt8] {
        var (rest, bytes) = (value, [UInt8]())
        repeat {
            bytes.append(UInt8(rest % 128) + (rest >= 128 ? 128 : 0))
            rest /= 128
        } while rest > 0
        return bytes
    }

    static func text(_ text: String) -> [UInt8] { data(Array(text.utf8)) }

    static func data(_ bytes: [UInt8]) -> [UInt8] { [UInt8(bytes.count >> 8), UInt8(bytes.count & 255)] + bytes }

    static func properties(_ bytes: [UInt8]...) -> [UInt8] {
        let all = bytes.flatMap { $0 }
        return integer(all.count) + all
    }
}

extension SpecificationPacket {
    static let all = connacks + oldConnacks + auths + messages + oldMessages + acknowledgements + endings

    /// MQTT 5.0, 3.2.
    private static let connacks: [SpecificationPacket] = [
        connack("accepted", [0, 0, 0], "0 false []"),
        connack("session present", [1, 0, 0], "0 true []"),
        connack("server unavailable", [0, 0x88, 0], "136 false []"),
        connack("a code that no version defines", [0, 0xFE, 0], "254 false []"),
        connack(
            "use another server",
            [0, 0x9C] + Wire.properties([0x1C] + Wire.text("b:1")),
            "156 false [\"28 [98, 58, 49]\"]"
        ),
        connack("reason string", [0, 0x87] + Wire.properties([0x1F] + Wire.text("no")), "135 false []"),
        connack("session expiry", [0, 0, 5, 0x11, 0, 0, 1, 0], "0 false [\"17 [0, 0, 1, 0]\"]"),
        connack("receive maximum", [0, 0, 3, 0x21, 0, 20], "0 false [\"33 [0, 20]\"]"),
        connack("QoS 1 and no retained messages", [0, 0, 4, 0x24, 1, 0x25, 0], "0 false [\"36 [1]\", \"37 [0]\"]"),
        connack("maximum packet size", [0, 0, 5, 0x27, 0, 1, 0, 0], "0 false [\"39 [0, 1, 0, 0]\"]"),
        connack("assigned client id", [0, 0] + Wire.properties([0x12] + Wire.text("auto-1")), "0 false []"),
        connack(
            "topic aliases and keepalive",
            [0, 0, 6, 0x22, 0, 10, 0x13, 0, 5],
            "0 false [\"19 [0, 5]\", \"34 [0, 10]\"]"
        ),
        connack(
            "what the server cannot do",
            [0, 0, 6, 0x28, 0, 0x29, 0, 0x2A, 0],
            "0 false [\"40 [0]\", \"41 [0]\", \"42 [0]\"]"
        ),
        connack(
            "user properties and response information",
            [0, 0] + Wire.properties(user("a", "1"), user("a", ""), [0x1A] + Wire.text("r/")),
            "0 false []"
        ),
        connack("the refusal of a broker of MQTT 3.1.1", [0, 1], "132 false []"),
        SpecificationPacket(
            "CONNACK after authentication",
            .v5,
            .authenticating,
            0x20,
            [0, 0] + Wire.properties([0x15] + Wire.text("M"), [0x16] + Wire.data([1, 0])),
            "connack 0 false [\"22 [1, 0]\"]"
        ),
        SpecificationPacket(
            "CONNACK that refuses the method",
            .v5,
            .authenticating,
            0x20,
            [0, 0x8C, 0],
            "connack 140 false []"
        ),
    ]

    /// MQTT 3.1.1, 3.2.
    private static let oldConnacks: [SpecificationPacket] =
        (0...5).map { code in
            let meaning = [0, 132, 133, 136, 134, 135][code]
            return SpecificationPacket(
                "CONNACK \(code)",
                .v311,
                .connecting,
                0x20,
                [0, UInt8(code)],
                "connack \(meaning) false []"
            )
        } + [SpecificationPacket("CONNACK, session present", .v311, .connecting, 0x20, [1, 0], "connack 0 true []")]

    /// MQTT 5.0, 3.15.
    private static let auths: [SpecificationPacket] = [
        SpecificationPacket(
            "AUTH",
            .v5,
            .authenticating,
            0xF0,
            [0x18] + Wire.properties([0x15] + Wire.text("M")),
            "auth 24 [77] []"
        ),
        SpecificationPacket(
            "AUTH with a challenge",
            .v5,
            .authenticating,
            0xF0,
            [0x18]
                + Wire.properties(
                    [0x15] + Wire.text("M"),
                    [0x16] + Wire.data([9, 0, 255]),
                    [0x1F] + Wire.text("go on"),
                    user("a", "b")
                ),
            "auth 24 [77] [9, 0, 255]"
        ),
    ]

    /// MQTT 5.0, 3.3.
    private static let messages: [SpecificationPacket] = [
        message("QoS 0", 0x30, "a/b", payload: [1, 2, 3]),
        message("no payload", 0x30, "a/b"),
        message("retained", 0x31, "a", payload: [7]),
        message("QoS 1", 0x32, "a/b", id: 5, payload: [0]),
        message("QoS 1, sent before", 0x3A, "a/b", id: 0xFFFF, payload: [0]),
        message("QoS 1, sent before, retained", 0x3B, "a/b", id: 0x0100, payload: [0]),
        message("payload format", 0x30, "t", [[0x01, 1]]),
        message("expiry", 0x30, "t", [[0x02, 0, 0, 0, 60]]),
        message("content type", 0x30, "t", [[0x03] + Wire.text("text/plain")]),
        message("request", 0x32, "t", [[0x08] + Wire.text("re/1"), [0x09] + Wire.data([0, 1])], id: 1),
        message("subscription ids", 0x30, "t", [[0x0B, 1], [0x0B, 0xFF, 0xFF, 0xFF, 0x7F]]),
        message("topic alias", 0x30, "t", [[0x23, 0, 4]]),
        message("topic alias without a topic", 0x30, "", [[0x23, 0, 2]], topic: Wire.aliasedTopic, payload: [1]),
        message("user properties", 0x30, "t", [user("", ""), user("k", "v"), user("k", "w")]),
        message("text outside ASCII", 0x30, "ä/\u{20AC}/\u{1F600}/12345678", [user("\u{FEFF}", "\u{FFFF}\u{1}")]),
        message("wildcards", 0x30, "a/#"),
        message("payload format 2, response topic +", 0x30, "t", [[0x01, 2], [0x08] + Wire.text("+")]),
        message("a length of two bytes", 0x32, "t", id: 9, payload: [UInt8](repeating: 0x20, count: 150)),
        message(
            "properties with a length of two bytes",
            0x30,
            "t",
            [[0x03] + Wire.text(String(repeating: "c", count: 130))]
        ),
    ]

    /// MQTT 3.1.1, 3.3.
    private static let oldMessages: [SpecificationPacket] = [
        message("QoS 0", 0x30, "a/b", payload: [1, 2, 3], version: .v311),
        message("no payload, retained", 0x31, "a/b", version: .v311),
        message("QoS 1", 0x32, "a/b", id: 5, payload: [0], version: .v311),
        message("QoS 1, sent before", 0x3A, "a/b", id: 5, payload: [0], version: .v311),
    ]

    /// MQTT 5.0, 3.4, 3.9 and 3.11, and the same clauses of MQTT 3.1.1.
    private static let acknowledgements: [SpecificationPacket] = [
        open("PUBACK", .v311, 0x40, [0, 7], "puback 7 0"),
        open("PUBACK", .v5, 0x40, [0, 7], "puback 7 0"),
        open("PUBACK with a code", .v5, 0x40, [0, 7, 0x10], "puback 7 16"),
        open("PUBACK with no properties", .v5, 0x40, [0, 7, 0x97, 0], "puback 7 151"),
        open(
            "PUBACK with properties",
            .v5,
            0x40,
            [1, 0, 0x87] + Wire.properties([0x1F] + Wire.text("no"), user("a", "b")),
            "puback 256 135"
        ),
        open("PUBACK with an undefined code", .v5, 0x40, [0, 7, 0x42], "puback 7 66"),
        open("SUBACK", .v311, 0x90, [0, 10, 1], "suback 10 [1]"),
        open("SUBACK of three", .v311, 0x90, [0, 11, 0, 0x80, 2], "suback 11 [0, 128, 2]"),
        open("SUBACK", .v5, 0x90, [0, 10, 0, 1], "suback 10 [1]"),
        open("SUBACK of three", .v5, 0x90, [0, 11, 0, 0, 0x87, 0xFE], "suback 11 [0, 135, 254]"),
        open(
            "SUBACK with properties",
            .v5,
            0x90,
            [0, 10] + Wire.properties([0x1F] + Wire.text("no"), user("a", "b")) + [0x8F],
            "suback 10 [143]"
        ),
        open("a late SUBACK", .v5, 0x90, [0, 99, 0, 1, 1], "ignored"),
        open("UNSUBACK", .v311, 0xB0, [0, 21], "unsuback 21 [0, 0]"),
        open("UNSUBACK", .v5, 0xB0, [0, 21, 0, 0, 0x11], "unsuback 21 [0, 17]"),
        open(
            "UNSUBACK with properties",
            .v5,
            0xB0,
            [0, 20] + Wire.properties([0x1F] + Wire.text("no"), user("a", "b")) + [0x87],
            "unsuback 20 [135]"
        ),
        open("a late UNSUBACK", .v311, 0xB0, [0, 10], "ignored"),
    ]

    /// MQTT 5.0, 3.13 and 3.14.
    private static let endings: [SpecificationPacket] = [
        open("PINGRESP", .v311, 0xD0, [], "pong"),
        open("PINGRESP", .v5, 0xD0, [], "pong"),
        open("DISCONNECT without a code", .v5, 0xE0, [], "disconnect 0 []"),
        open("DISCONNECT without properties", .v5, 0xE0, [0x8B], "disconnect 139 []"),
        open("DISCONNECT", .v5, 0xE0, [0x8D, 0], "disconnect 141 []"),
        open(
            "DISCONNECT with a server reference",
            .v5,
            0xE0,
            [0x9D] + Wire.properties([0x1C] + Wire.text("c:2"), [0x1F] + Wire.text("moved"), user("a", "b")),
            "disconnect 157 [99, 58, 50]"
        ),
    ]

    private static func user(_ name: String, _ value: String) -> [UInt8] { [0x26] + Wire.text(name) + Wire.text(value) }

    private static func connack(_ name: String, _ body: [UInt8], _ reading: String) -> SpecificationPacket {
        SpecificationPacket("CONNACK, \(name)", .v5, .connecting, 0x20, body, "connack \(reading)")
    }

    private static func open(
        _ name: String,
        _ version: MQTTVersion,
        _ first: UInt8,
        _ body: [UInt8],
        _ reading: String
    ) -> SpecificationPacket {
        SpecificationPacket(name, version, .open, first, body, reading)
    }

    /// - Parameters:
    ///   - id: The packet identifier, or 0 for none.
    ///   - topic: The topic that the reading has, if it differs from the one in the packet.
    private static func message(
        _ name: String,
        _ first: UInt8,
        _ text: String,
        _ properties: [[UInt8]] = [],
        id: Int = 0,
        topic: [UInt8]? = nil,
        payload: [UInt8] = [],
        version: MQTTVersion = .v5
    ) -> SpecificationPacket {
        let block = properties.flatMap { $0 }
        let body =
            Wire.text(text) + (id == 0 ? [] : [UInt8(id >> 8), UInt8(id & 255)])
            + (version == .v5 ? Wire.properties(block) : []) + payload
        let flags = "\(first & 1 == 1) \(first & 8 == 8)"
        return SpecificationPacket(
            "PUBLISH, \(name)",
            version,
            .open,
            first,
            body,
            "publish \(topic ?? Array(text.utf8)) \(id == 0 ? 0 : 1) \(id) \(flags) \(block) \(payload)"
        )
    }
}
