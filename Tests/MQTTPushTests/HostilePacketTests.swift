import BrokerKit
import MQTTPush
import SignalboxCore
import SignalboxTesting
import TestSupport
import Testing

/// A broker sends packets that MQTT forbids. The callbacks survive, the connection ends or continues, and the messages
/// before and after the packet arrive as usual.
@Suite(.timeLimit(.minutes(10)))
struct HostilePacketTests {
    private static func message(_ payload: String) -> [UInt8] {
        FakeAnswers.message(payload, to: "push/log", qos: 0)
    }

    /// The answers of a good connection after the hostile one.
    private static let recovery = [FakeAnswers.connected, FakeAnswers.granted + message("3")]

    private func run(
        _ scripts: [FakeBroker.Script],
        hangUps: Int = 0,
        _ body: (PushTrial) async throws -> Void
    ) async throws {
        let broker = try FakeBroker(scripts, hangUps: hangUps)
        defer { broker.close() }
        var configuration = try MQTTPushConfiguration.test(port: broker.port, [try MQTTTopic("push/{action}")])
        // After some of the packets the broker sends nothing more.
        configuration.answerTimeout = .seconds(10)
        try await PushTrial.run(configuration, subscribed: false, body)
    }

    /// Returns the payloads up to the end marker: `2` behind the packet or `3` from the good connection.
    private func payloads(_ trial: PushTrial) async -> [String] {
        await trial.intake.taken.wait { ["2", "3"].contains($0.last?.text) }.map(\.text)
    }

    @Test(arguments: HostilePacket.firstPackets)
    func aFirstPacketOtherThanConnackEndsTheConnection(_ packet: HostilePacket) async throws {
        let isConnack = packet.answer == .takes
        let script = [
            packet.bytes + (isConnack ? [] : FakeAnswers.connected), FakeAnswers.granted + Self.message("2"),
        ]
        try await run([script, Self.recovery]) { trial in
            #expect(await payloads(trial) == [packet.answer == .drops ? "3" : "2"])
        }
    }

    @Test(arguments: HostilePacket.others + HostilePacket.messages)
    func anInvalidPacketLosesNoEarlierMessage(_ packet: HostilePacket) async throws {
        let behind = Self.message("1") + packet.bytes + Self.message("2")
        try await run([[FakeAnswers.connected, FakeAnswers.granted + behind], Self.recovery]) { trial in
            switch packet.answer {
            case .drops: #expect(await payloads(trial) == ["1", "3"])
            case .ignores: #expect(await payloads(trial) == ["1", "2"])
            case .takes: #expect(await payloads(trial) == ["1", "", "2"])
            }
        }
    }

    @Test func aMessageMayArriveBeforeSuback() async throws {
        let early = Self.message("1") + FakeAnswers.granted + Self.message("2")
        try await run([[FakeAnswers.connected, early]]) { trial in
            #expect(await payloads(trial) == ["1", "2"])
        }
    }

    /// MQTT 5.0, 3.1.2.11.4, requires the client to end the connection. The broker would then redeliver the message
    /// endlessly.
    @Test func aMessageOverTheMaximumPacketSizeIsARejectedArrival() async throws {
        let payload = [UInt8](repeating: 0x20, count: 5_000)
        let rest = [0x00, 0x08] + Array("push/log".utf8) + [0x00] + payload
        let large = [0x30, UInt8(rest.count & 0x7F | 0x80), UInt8(rest.count >> 7)] + rest
        let broker = try FakeBroker([[FakeAnswers.connected, FakeAnswers.granted + large + Self.message("2")]])
        defer { broker.close() }
        var configuration = try MQTTPushConfiguration.test(port: broker.port, [try MQTTTopic("push/{action}")])
        configuration.limits = MessageLimits(bytes: 1_000)
        #expect(configuration.packetLimit == 4_000)
        try await PushTrial.run(configuration, subscribed: false) { trial in
            let arrivals = await trial.arrivals(2)
            #expect(arrivals[0].rejection?.reason == .malformed && arrivals[0].originalLength == 5_000)
            #expect(arrivals[1].rejection == nil)
        }
    }
}

/// A packet that a broker must not or need not send, and how the client responds to it.
struct HostilePacket: Sendable, CustomStringConvertible {
    enum Answer: Sendable {
        /// The client drops the connection and reconnects.
        case drops
        /// The client skips the packet and reads the bytes behind it as usual.
        case ignores
        /// The client accepts the packet as the type that it claims to be.
        case takes
    }

    let name: String
    let bytes: [UInt8]
    let answer: Answer

    init(_ name: String, _ bytes: [UInt8], _ answer: Answer = .drops) {
        self.name = name
        self.bytes = bytes
        self.answer = answer
    }

    var description: String { name }

    /// Returns a packet: type and flags, then the rest with its true length, which must be below 128.
    static func packet(_ first: UInt8, _ rest: [UInt8]) -> [UInt8] { [first, UInt8(rest.count)] + rest }

    /// Returns a CONNACK with these properties.
    static func connack(_ properties: [UInt8], flags: UInt8 = 0, code: UInt8 = 0) -> [UInt8] {
        packet(0x20, [flags, code, UInt8(properties.count)] + properties)
    }

    /// Returns a PUBLISH with these bytes as its topic and properties. QoS 0 by default.
    static func publish(_ topic: [UInt8], properties: [UInt8] = [], first: UInt8 = 0x30) -> [UInt8] {
        let id: [UInt8] = first & 0x06 == 0 ? [] : [0x00, 0x01]
        return packet(first, [0, UInt8(topic.count)] + topic + id + [UInt8(properties.count)] + properties)
    }
}

extension HostilePacket {
    /// Packets in place of CONNACK (MQTT 5.0, 3.2).
    static let firstPackets: [HostilePacket] = [
        HostilePacket("an empty CONNACK", packet(0x20, [])),
        HostilePacket("CONNACK of one byte", packet(0x20, [0x00])),
        HostilePacket("CONNACK without properties", packet(0x20, [0x00, 0x00])),
        HostilePacket("CONNACK with reserved flags", connack([], flags: 0x02)),
        HostilePacket("CONNACK with reserved bits in its type", packet(0x21, [0x00, 0x00, 0x00])),
        HostilePacket("CONNACK with an undefined code", connack([], code: 0x7F)),
        HostilePacket("CONNACK with the code for a busy server", connack([], code: 0x89)),
        HostilePacket("CONNACK that refuses and has a session", connack([], flags: 0x01, code: 0x88)),
        HostilePacket("CONNACK with properties longer than the packet", packet(0x20, [0x00, 0x00, 0x05])),
        HostilePacket("CONNACK with trailing bytes", packet(0x20, [0x00, 0x00, 0x00, 0xAA])),
        HostilePacket(
            "CONNACK with an unterminated property length",
            packet(0x20, [0x00, 0x00, 0xFF, 0xFF, 0xFF, 0xFF, 0x01])
        ),
        HostilePacket("CONNACK with a duplicate property", connack([0x21, 0x00, 0x0A, 0x21, 0x00, 0x0A])),
        HostilePacket("CONNACK with a property of PUBLISH", connack([0x01, 0x00])),
        HostilePacket("CONNACK with receive maximum 0", connack([0x21, 0x00, 0x00])),
        HostilePacket("CONNACK with maximum packet size 0", connack([0x27, 0, 0, 0, 0])),
        HostilePacket("CONNACK with maximum QoS 7", connack([0x24, 0x07])),
        HostilePacket("CONNACK with a truncated reason", connack([0x1F, 0x00, 0x10, 0x61])),
        HostilePacket("CONNACK with a reason that is not UTF-8", connack([0x1F, 0x00, 0x02, 0xC3, 0x28])),
        HostilePacket("CONNACK with NUL in a client id", connack([0x12, 0x00, 0x01, 0x00])),
        HostilePacket("SUBACK before CONNACK", FakeAnswers.granted),
        HostilePacket("PUBLISH before CONNACK", FakeAnswers.message("9", to: "push/log", qos: 0)),
        HostilePacket("PUBLISH of QoS 1 before CONNACK", FakeAnswers.message("9", to: "push/log", qos: 1)),
        HostilePacket("PUBACK before CONNACK", packet(0x40, [0x00, 0x01])),
        HostilePacket("PINGRESP before CONNACK", packet(0xD0, [])),
        HostilePacket("DISCONNECT before CONNACK", packet(0xE0, [0x8B, 0x00])),
        HostilePacket("AUTH before CONNACK", packet(0xF0, [0x18, 0x00])),
        HostilePacket("the reserved type before CONNACK", packet(0x00, [])),
        HostilePacket("CONNECT from a broker", packet(0x10, Array("\0\u{4}MQTT\u{5}\0\0\u{A}\0\0\0".utf8))),
        HostilePacket("a length of five bytes before CONNACK", [0x20, 0xFF, 0xFF, 0xFF, 0xFF, 0x01]),
        HostilePacket("a TLS alert", [0x15, 0x03, 0x01, 0x00, 0x02, 0x02, 0x46]),
    ]
}

extension HostilePacket {
    /// Packets other than PUBLISH, sent after CONNACK and the granted filter (MQTT 5.0, 3.4 to 3.15).
    static let others: [HostilePacket] = [
        HostilePacket("a second CONNACK", FakeAnswers.connected),
        HostilePacket("SUBACK for an unknown packet id", packet(0x90, [0x00, 0x63, 0x00, 0x01]), .ignores),
        HostilePacket("a second SUBACK", FakeAnswers.granted, .ignores),
        HostilePacket("SUBACK with packet id 0", packet(0x90, [0x00, 0x00, 0x00, 0x01])),
        HostilePacket("an empty SUBACK", packet(0x90, [])),
        HostilePacket("SUBACK of one byte", packet(0x90, [0x00])),
        HostilePacket("SUBACK without properties", packet(0x90, [0x00, 0x01])),
        HostilePacket("SUBACK without codes", packet(0x90, [0x00, 0x01, 0x00])),
        HostilePacket("SUBACK with reserved bits in its type", packet(0x91, [0x00, 0x01, 0x00, 0x01])),
        HostilePacket("SUBACK with a property of CONNACK", packet(0x90, [0x00, 0x01, 0x03, 0x21, 0x00, 0x0A, 0x01])),
        HostilePacket("UNSUBACK for an unknown packet id", packet(0xB0, [0x00, 0x63, 0x00, 0x00]), .ignores),
        HostilePacket("an empty UNSUBACK", packet(0xB0, [])),
        HostilePacket("PUBACK for an unknown packet id", packet(0x40, [0x00, 0x07]), .ignores),
        HostilePacket("an empty PUBACK", packet(0x40, [])),
        HostilePacket("PUBACK with packet id 0", packet(0x40, [0x00, 0x00])),
        HostilePacket("PUBACK with an undefined code", packet(0x40, [0x00, 0x07, 0x42]), .ignores),
        HostilePacket("PUBACK with properties longer than the packet", packet(0x40, [0x00, 0x07, 0x00, 0x09])),
        HostilePacket("PUBREC for an unknown packet id", packet(0x50, [0x00, 0x07])),
        HostilePacket("PUBREL for an unknown packet id", packet(0x62, [0x00, 0x07])),
        HostilePacket("PUBREL with reserved bits in its type", packet(0x60, [0x00, 0x07])),
        HostilePacket("PUBCOMP for an unknown packet id", packet(0x70, [0x00, 0x07])),
        HostilePacket("an unsolicited PINGRESP", packet(0xD0, []), .ignores),
        HostilePacket("PINGRESP with a byte", packet(0xD0, [0x00])),
        HostilePacket("PINGREQ from a broker", packet(0xC0, [])),
        HostilePacket("DISCONNECT without a code", packet(0xE0, [])),
        HostilePacket("DISCONNECT of a broker that shuts down", packet(0xE0, [0x8B, 0x00])),
        HostilePacket("DISCONNECT with an undefined code", packet(0xE0, [0x42, 0x00])),
        HostilePacket("DISCONNECT with properties longer than the packet", packet(0xE0, [0x8B, 0x09])),
        HostilePacket("DISCONNECT with reserved bits in its type", packet(0xE1, [0x8B, 0x00])),
        HostilePacket("AUTH", packet(0xF0, [0x18, 0x00])),
        HostilePacket("an empty AUTH", packet(0xF0, [])),
        HostilePacket("AUTH with a truncated method", packet(0xF0, [0x18, 0x03, 0x15, 0x00, 0x09])),
        HostilePacket("CONNECT from a broker", packet(0x10, Array("\0\u{4}MQTT\u{5}\0\0\u{A}\0\0\0".utf8))),
        HostilePacket("SUBSCRIBE from a broker", packet(0x82, [0x00, 0x01, 0x00, 0x00, 0x01, 0x61, 0x00])),
        HostilePacket("UNSUBSCRIBE from a broker", packet(0xA2, [0x00, 0x01, 0x00, 0x00, 0x01, 0x61])),
        HostilePacket("the reserved type", packet(0x00, [])),
        HostilePacket("a length of five bytes", [0xD0, 0xFF, 0xFF, 0xFF, 0xFF, 0x01]),
    ]
}

extension HostilePacket {
    private static let log = Array("push/log".utf8)

    /// PUBLISH packets, sent after CONNACK and the granted filter (MQTT 5.0, 3.3).
    static let messages: [HostilePacket] = [
        HostilePacket("an empty PUBLISH", packet(0x30, [])),
        HostilePacket("PUBLISH with a truncated topic", packet(0x30, [0x00, 0x05, 0x61])),
        HostilePacket("PUBLISH with an empty topic", publish([])),
        HostilePacket("PUBLISH with an unset topic alias", publish([], properties: [0x23, 0x00, 0x05])),
        HostilePacket("PUBLISH with topic alias 0", publish(log, properties: [0x23, 0x00, 0x00])),
        HostilePacket(
            "PUBLISH with a topic alias over the maximum",
            publish(log, properties: [0x23, 0xFF, 0xFF])
        ),
        HostilePacket("PUBLISH with NUL in its topic", publish(Array("push/\0log".utf8))),
        HostilePacket("PUBLISH with a topic that is not UTF-8", publish([0x70, 0x75, 0xC3, 0x28])),
        HostilePacket("PUBLISH with half a surrogate pair in its topic", publish([0x70, 0xED, 0xA0, 0x80])),
        HostilePacket("PUBLISH with # in its topic", publish(Array("push/#".utf8)), .takes),
        HostilePacket("PUBLISH with + in its topic", publish(Array("push/+".utf8)), .takes),
        HostilePacket("PUBLISH of QoS 3", publish(log, first: 0x36)),
        HostilePacket("PUBLISH of QoS 2", publish(log, first: 0x34)),
        HostilePacket("PUBLISH of QoS 0 with the DUP flag", publish(log, first: 0x38)),
        HostilePacket("PUBLISH of QoS 1 with packet id 0", packet(0x32, [0x00, 0x08] + log + [0x00, 0x00, 0x00])),
        HostilePacket("PUBLISH of QoS 1 without a packet id", packet(0x32, [0x00, 0x08] + log)),
        HostilePacket("PUBLISH without properties", packet(0x30, [0x00, 0x08] + log)),
        HostilePacket(
            "PUBLISH with properties longer than the packet",
            packet(0x30, [0x00, 0x08] + log + [0x09, 0x01])
        ),
        HostilePacket(
            "PUBLISH with an unterminated property length",
            packet(0x30, [0x00, 0x08] + log + [0xFF, 0xFF, 0xFF, 0xFF, 0x01])
        ),
        HostilePacket(
            "PUBLISH with a duplicate content type",
            publish(log, properties: [0x03, 0x00, 0x01, 0x61, 0x03, 0x00, 0x01, 0x61])
        ),
        HostilePacket("PUBLISH with a property of CONNECT", publish(log, properties: [0x11, 0, 0, 0, 1])),
        HostilePacket("PUBLISH with payload format 2", publish(log, properties: [0x01, 0x02]), .takes),
        HostilePacket(
            "PUBLISH with # in its response topic",
            publish(log, properties: [0x08, 0x00, 0x01, 0x23]),
            .takes
        ),
        HostilePacket(
            "PUBLISH with a content type that is not UTF-8",
            publish(log, properties: [0x03, 0x00, 0x02, 0xC3, 0x28])
        ),
        HostilePacket("PUBLISH with a truncated user property", publish(log, properties: [0x26, 0x00, 0x01, 0x61])),
        HostilePacket("PUBLISH with truncated correlation data", publish(log, properties: [0x09, 0x00, 0x09, 0x61])),
        HostilePacket("PUBLISH with subscription id 0", publish(log, properties: [0x0B, 0x00])),
        HostilePacket(
            "PUBLISH with an unterminated subscription id",
            publish(log, properties: [0x0B, 0xFF, 0xFF, 0xFF, 0xFF, 0x01])
        ),
        HostilePacket("PUBLISH with a length of five bytes", [0x30, 0xFF, 0xFF, 0xFF, 0xFF, 0x01]),
    ]
}
