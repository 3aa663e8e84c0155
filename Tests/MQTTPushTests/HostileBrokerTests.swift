import BrokerKit
import MQTTPush
import SignalboxCore
import SignalboxTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10)))
struct HostileBrokerTests {
    /// Runs a source against a broker that plays `script` first and then behaves.
    private func checkSurvives(
        _ script: FakeBroker.Script,
        logging text: String,
        _ check: (PushTrial) -> Void = { _ in }
    ) async throws {
        let broker = try FakeBroker([script, FakeAnswers.welcome])
        defer { broker.close() }
        let configuration = try MQTTPushConfiguration.test(port: broker.port, [try MQTTTopic("push/{action}")])
        try await PushTrial.run(configuration, subscribed: false) { trial in
            await trial.waitForLog(text)
            await trial.waitForLog("subscribed to 1 topic filter")
            check(trial)
        }
    }

    @Test func noiseInsteadOfConnackEndsTheConnection() async throws {
        try await checkSurvives([[0x00, 0x02, 0x13, 0x37]], logging: "violated the MQTT protocol")
    }

    @Test func aPacketWithAnUnterminatedLengthEndsTheConnection() async throws {
        let endless: [UInt8] = [0x30, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]
        try await checkSurvives(
            [FakeAnswers.connected, FakeAnswers.granted + endless],
            logging: "violated the MQTT protocol"
        )
    }

    @Test func aQoS2MessageIsAProtocolError() async throws {
        let message = FakeAnswers.message("{}", to: "push/log", qos: 2)
        let release: [UInt8] = [0x62, 0x02, 0x00, 0x01]
        try await checkSurvives(
            [FakeAnswers.connected, FakeAnswers.granted + message + release],
            logging: "violated the MQTT protocol"
        ) { #expect($0.intake.taken.all.isEmpty) }
    }

    @Test func aSubackWithMoreCodesThanFiltersIsAProtocolError() async throws {
        let many: [UInt8] = [0x90, 0x23, 0x00, 0x01, 0x00] + [UInt8](repeating: 0x01, count: 32)
        try await checkSurvives([FakeAnswers.connected, many], logging: "violated the MQTT protocol")
    }

    @Test func aRefusedFilterIsLogged() async throws {
        let refused: [UInt8] = [0x90, 0x04, 0x00, 0x01, 0x00, 0x87]
        let broker = try FakeBroker([[FakeAnswers.connected, refused]])
        defer { broker.close() }
        let configuration = try MQTTPushConfiguration.test(port: broker.port, [try MQTTTopic("push/{action}")])
        try await PushTrial.run(configuration, subscribed: false) { trial in
            let line = await trial.waitForLog("refused the subscription")
            #expect(line.contains("\"push/+\": not authorized (135)") && line.hasPrefix("error "))
        }
    }

    @Test func aMessageOnAnUnsubscribedTopicIsARejectedArrival() async throws {
        let message = FakeAnswers.message("{}", to: "other/topic", qos: 0)
        let broker = try FakeBroker([[FakeAnswers.connected, FakeAnswers.granted + message]])
        defer { broker.close() }
        let configuration = try MQTTPushConfiguration.test(port: broker.port, [try MQTTTopic("push/{action}")])
        try await PushTrial.run(configuration) { trial in
            let arrival = await trial.arrivals(1)[0]
            #expect(arrival.rejection?.reason == .malformed && arrival.original == Bytes("{}"))
            await trial.waitForLog("sent 1 message without a subscription")
        }
    }

    @Test func aSessionTakeoverIsLoggedAndRetried() async throws {
        let disconnectCode: [UInt8] = [0xE0, 0x02, 0x8E, 0x00]
        try await checkSurvives(
            [FakeAnswers.connected, FakeAnswers.granted + disconnectCode],
            logging: "error push: broker 127.0.0.1:"
        ) { trial in
            #expect(trial.log.all.contains { $0.contains("(142). Another client uses the same client id") })
        }
    }
}

/// A broker that sends one damaged packet per connection, and then behaves. The packets are cut off, have a wrong
/// length or have a wrong byte.
@Suite(.timeLimit(.minutes(10)))
struct DamagedBrokerTests {
    /// One of each packet that a client may receive, with properties where allowed (MQTT 5.0, chapter 3).
    static let packets: [[UInt8]] = [
        HostilePacket.connack([
            0x21, 0x00, 0x0A, 0x12, 0x00, 0x02, 0x61, 0x62, 0x26, 0x00, 0x01, 0x61, 0x00, 0x01, 0x62,
        ]),
        HostilePacket.packet(0x90, [0x00, 0x01, 0x04, 0x1F, 0x00, 0x01, 0x61, 0x01]),
        HostilePacket.packet(0xB0, [0x00, 0x02, 0x04, 0x1F, 0x00, 0x01, 0x61, 0x00]),
        HostilePacket.publish(
            Array("push/log".utf8),
            properties: [
                0x01, 0x01, 0x02, 0, 0, 0, 9, 0x03, 0x00, 0x01, 0x61, 0x26, 0x00, 0x01, 0x61, 0x00, 0x01, 0x62,
            ],
            first: 0x32
        ),
        HostilePacket.packet(0x40, [0x00, 0x07, 0x10, 0x04, 0x1F, 0x00, 0x01, 0x61]),
        HostilePacket.packet(0xD0, []),
        HostilePacket.packet(0xE0, [0x8B, 0x04, 0x1F, 0x00, 0x01, 0x61]),
        HostilePacket.packet(0xF0, [0x18, 0x04, 0x15, 0x00, 0x01, 0x61]),
    ]

    /// Returns the answers of a good broker, including one message.
    private static func answers(_ version: MQTTVersion, _ payload: String) -> FakeBroker.Script {
        let isNew = version == .v5
        let topic: [UInt8] = [0x00, 0x08] + Array("push/log".utf8)
        let message = HostilePacket.packet(0x30, topic + (isNew ? [0x00] : []) + Array(payload.utf8))
        return isNew
            ? [FakeAnswers.connected, FakeAnswers.granted + message]
            : [[0x20, 0x02, 0x00, 0x00], [0x90, 0x03, 0x00, 0x01, 0x01] + message]
    }

    /// Plays each packet as the connack and after a valid connack, each on its own connection, and then hangs up.
    private func checkSurvives(_ damaged: [[UInt8]], _ version: MQTTVersion = .v5) async throws {
        let before = Self.answers(version, "\"before\"")
        let scripts = damaged.flatMap { [[$0], [before[0], before[1] + $0]] }
        let broker = try FakeBroker(scripts + [Self.answers(version, "\"well\"")], hangUps: scripts.count)
        defer { broker.close() }
        var configuration = try MQTTPushConfiguration.test(port: broker.port, [try MQTTTopic("push/{action}")])
        configuration.version = version
        try await PushTrial.run(configuration, subscribed: false) { trial in
            let taken = await trial.intake.taken.wait { $0.last?.text == "\"well\"" }
            #expect(taken.last?.text == "\"well\"")
            #expect(taken.count { $0.text == "\"before\"" } == damaged.count)
        }
    }

    @Test(arguments: packets)
    func theSourceSurvivesAPacketTruncatedAtAnyByte(_ packet: [UInt8]) async throws {
        try await checkSurvives(packet.indices.dropFirst().map { Array(packet[..<$0]) })
    }

    @Test(arguments: packets)
    func theSourceSurvivesAWrongPacketLength(_ packet: [UInt8]) async throws {
        try await checkSurvives(
            [0, 1, packet[1] &- 1, packet[1] &+ 1, 0x7F].filter { $0 != packet[1] && $0 < 0x80 }.map {
                [packet[0], $0] + packet[2...]
            }
        )
    }

    @Test(arguments: packets, [0x00, 0x01, 0x7F, 0x80, 0xFF] as [UInt8])
    func theSourceSurvivesAnyCorruptByte(_ packet: [UInt8], _ wrong: UInt8) async throws {
        try await checkSurvives(
            packet.indices.filter { packet[$0] != wrong }.map { index in
                var damaged = packet
                damaged[index] = wrong
                return damaged
            }
        )
    }

    /// MQTT 3.1.1 packets. They have no properties, so any byte may be damaged.
    static let old: [[UInt8]] = [
        [0x20, 0x02, 0x00, 0x00], [0x90, 0x03, 0x00, 0x01, 0x01], [0xB0, 0x02, 0x00, 0x02],
        HostilePacket.packet(0x32, [0x00, 0x08] + Array("push/log".utf8) + [0x00, 0x01] + Array("{}".utf8)),
        [0x40, 0x02, 0x00, 0x07], [0xD0, 0x00],
    ]

    @Test(arguments: old, [0x00, 0x01, 0x7F, 0x80, 0xFF] as [UInt8])
    func theSourceSurvivesAnyCorruptByteOfMQTT311(_ packet: [UInt8], _ wrong: UInt8) async throws {
        let damaged = packet.indices.filter { packet[$0] != wrong }.map { index in
            var damaged = packet
            damaged[index] = wrong
            return damaged
        }
        try await checkSurvives(damaged, .v311)
    }

    @Test func theSourceSurvivesAnHTTPServer() async throws {
        try await checkSurvives([Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8)])
    }

    /// The header may promise 256 MiB (MQTT 5.0, 2.1.4); only a few bytes follow.
    @Test func theSourceSurvivesATruncatedPacketOfMaximumLength() async throws {
        try await checkSurvives([[0x30, 0xFF, 0xFF, 0xFF, 0x7F, 0x00, 0x01, 0x61]])
    }
}
