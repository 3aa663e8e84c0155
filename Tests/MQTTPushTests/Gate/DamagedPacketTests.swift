import BrokerKit
import Foundation
import Logging
import SignalboxRoutes
import TestSupport
import Testing

@testable import MQTTPush

/// Every packet that a broker may send, damaged at each byte, on real connections to a source. After each damaged packet,
/// the next connection works.
@Suite(.timeLimit(.minutes(10)))
struct DamagedSourceTests {
    /// The connection before the packet delivers a message, unless the packet replaces CONNACK. Then the connection behind
    /// it does.
    @Test(arguments: SpecificationPacket.all)
    func theNextConnectionDeliversMessages(_ packet: SpecificationPacket) async throws {
        let answers = packet.answers
        let before = answers.message("\"before\"")
        let damaged = Damage.all(of: packet.answer)
        let scripts = damaged.flatMap { damaged -> [FakeBroker.Script] in
            guard packet.phase == .open else { return [[damaged], [answers.connected, answers.granted + before]] }
            return [[answers.connected, before + packet.prelude + damaged]]
        }
        let taken = try await run(scripts, answers, until: "\"well\"")
        #expect(taken.count { $0 == "\"before\"" } == damaged.count)
        #expect(taken.last == "\"well\"")
    }

    /// The packets must be legal where they are sent. Otherwise, most damages would hit a connection that has ended.
    @Test(arguments: SpecificationPacket.all.filter(\.continues))
    func anUndamagedPacketEndsNoConnection(_ packet: SpecificationPacket) async throws {
        let answers = packet.answers
        let after = answers.message("\"after\"")
        let script =
            packet.phase == .open
            ? [answers.connected, packet.prelude + packet.answer + after] : [packet.answer, answers.granted + after]
        #expect(try await run([script], answers, until: "\"after\"").contains("\"after\""))
    }

    /// Plays the scripts and then a good connection, and returns the payloads up to a certain one.
    private func run(_ scripts: [FakeBroker.Script], _ answers: Answers, until last: String) async throws -> [String] {
        let good = [answers.connected, answers.granted + answers.message("\"well\"")]
        let broker = try FakeBroker(scripts + [good], hangUps: scripts.count)
        defer { broker.close() }
        let topics = try (0..<answers.filters).map { try MQTTTopic($0 == 0 ? "push/{action}" : "other\($0)/{action}") }
        var configuration = try MQTTPushConfiguration.test(port: broker.port, topics)
        configuration.version = answers.version
        configuration.reconnect = .hurried
        var payloads: [String] = []
        try await PushTrial.run(configuration, subscribed: false) { trial in
            payloads = await trial.intake.taken.wait { $0.last?.text == last }.map(\.text)
        }
        return payloads
    }
}

/// The same for a publisher, and for the packets that it may receive.
@Suite(.timeLimit(.minutes(10)))
struct DamagedPublisherTests {
    /// Errors of a message whose PUBACK or CONNACK is still valid, but says something else.
    private static let errors: Set<MQTTPublishError.Code> = [.denied, .tooLarge, .unsupported]
    /// PUBACKs of both versions for more messages than one connection gets.
    private static let acknowledgements = (1...64).flatMap { [0x40, 2, 0, $0] as [UInt8] }

    @Test(arguments: SpecificationPacket.all.filter { ![0x90, 0xB0].contains($0.bytes[0]) })
    func theNextConnectionPublishes(_ packet: SpecificationPacket) async throws {
        let (all, connected) = (Self.acknowledgements, packet.answers.connected)
        let scripts = Damage.all(of: packet.answer).flatMap { damaged -> [FakeBroker.Script] in
            guard packet.phase == .open else { return [[damaged], [connected, all]] }
            return [[connected, packet.bytes[0] == 0x40 ? damaged : all + damaged]]
        }
        let good = [connected] + Array(repeating: all, count: 64)
        let broker = try FakeBroker(scripts + [good], hangUps: scripts.count)
        defer { broker.close() }
        var configuration = try MQTTPublisherConfiguration.test(port: broker.port)
        configuration.version = packet.version
        configuration.reconnect = .hurried
        configuration.stopTimeout = .zero
        try await PublisherTrial.run(configuration, connected: false) { trial in
            while !Task.isCancelled, broker.playedScripts < scripts.count {
                let error = await publishError { try await trial.publisher.publish(MQTTMessage("{}", to: "a")) }
                if let error { #expect(Self.errors.contains(error.code), "\(error)") }
            }
            try await trial.publisher.publish(MQTTMessage("{}", to: "a"))
        }
        #expect(broker.playedScripts == scripts.count)
    }
}

/// The same for a client that ends subscriptions, which waits for UNSUBACK.
@Suite(.timeLimit(.minutes(10)))
struct DamagedSessionTests {
    @Test(arguments: SpecificationPacket.all.filter { $0.bytes[0] == 0xB0 && $0.reading != "ignored" })
    func theNextConnectionUnsubscribes(_ packet: SpecificationPacket) async throws {
        let connected = Wire.packet(0x20, packet.version == .v5 ? [1, 0, 0] : [1, 0])
        let scripts = Damage.all(of: packet.answer).map { [connected, $0] }
        // The last one of the scripts may need one, too.
        let good = [[connected, packet.answer], [connected, packet.answer]]
        let broker = try FakeBroker(scripts + good, hangUps: scripts.count)
        defer { broker.close() }
        var configuration = try MQTTPushConfiguration.test(port: broker.port, [try MQTTTopic("push/{action}")])
        configuration.version = packet.version
        configuration.reconnect = .hurried
        let session = try MQTTSession(
            configuration,
            logger: Logger(label: "push") { _ in SwiftLogNoOpLogHandler() }
        )
        let count = Wire.requests.unsubscribe[packet.packetID] ?? 1
        let filters = try (0..<count).map { try TopicFilter("gone/\($0)") }
        repeat {
            do {
                #expect(try await session.unsubscribe(filters))
            } catch {
                // Some damaged codes are failures.
                #expect(error.code == .subscriptionRefused)
            }
        } while broker.playedScripts < scripts.count + 1
    }
}

enum Damage {
    /// The values that replace a byte: with `SIGNALBOX_DAMAGE=all` each value, which takes many minutes.
    private static let values: [UInt8] =
        ProcessInfo.processInfo.environment["SIGNALBOX_DAMAGE"] == "all"
        ? Array(0...255) : [0x00, 0x01, 0x7F, 0x80, 0xFF]

    /// Returns the packet with each byte replaced by each wrong value, with a length that is wrong by 1, and cut off
    /// before each byte.
    static func all(of packet: [UInt8]) -> [[UInt8]] {
        packet.indices.flatMap { index -> [[UInt8]] in
            let near = index == 1 ? [packet[1] &- 1, packet[1] &+ 1] : []
            let replaced = Set(values + near).subtracting([packet[index]]).sorted().map { value in
                packet[..<index] + [value] + packet[(index + 1)...]
            }
            return replaced.map { Array($0) } + (index == 0 ? [] : [Array(packet[..<index])])
        }
    }
}

/// The answers of a good broker.
struct Answers {
    let version: MQTTVersion
    /// The number of filters that the client subscribes to.
    let filters: Int

    /// CONNACK, for several filters without subscription identifiers, so that one SUBSCRIBE has all of them.
    var connected: [UInt8] {
        guard version == .v5 else { return Wire.packet(0x20, [0, 0]) }
        return Wire.packet(0x20, filters > 1 ? [0, 0, 2, 0x29, 0] : [0, 0, 0])
    }
    /// SUBACK to the client's first packet.
    var granted: [UInt8] {
        Wire.packet(0x90, [0, 1] + (version == .v5 ? [0] : []) + [UInt8](repeating: 1, count: filters))
    }

    func message(_ payload: String) -> [UInt8] {
        Wire.packet(0x30, Wire.text("push/log") + (version == .v5 ? [0] : []) + Array(payload.utf8))
    }
}

extension SpecificationPacket {
    /// The packet identifier of an acknowledgement.
    fileprivate var packetID: UInt16 { UInt16(bytes[2]) << 8 | UInt16(bytes[3]) }

    /// The packet as the answer to the client's first packet, unless it answers none.
    fileprivate var answer: [UInt8] {
        guard [0x40, 0x90, 0xB0].contains(bytes[0]), reading != "ignored" else { return bytes }
        return bytes[..<2] + [0, 1] + bytes[4...]
    }

    fileprivate var answers: Answers {
        let isAnswer = bytes[0] == 0x90 && reading != "ignored"
        return Answers(version: version, filters: isAnswer ? Wire.requests.subscribe[packetID] ?? 1 : 1)
    }

    /// What a broker sends between CONNACK and the packet: SUBACK, unless the packet is one, and a topic for the alias.
    fileprivate var prelude: [UInt8] {
        if bytes[0] == 0x90, reading != "ignored" { return [] }
        let alias = Wire.packet(0x30, Wire.data(Wire.aliasedTopic) + [3, 0x23, 0, 2])
        return answers.granted + (usesAlias ? alias : [])
    }

    private var usesAlias: Bool { name.contains("topic alias without a topic") }

    /// Whether a source, which has no authentication method, continues after the packet.
    fileprivate var continues: Bool {
        switch phase {
        case .authenticating: false
        case .connecting: reading.hasPrefix("connack 0 ")
        case .open: bytes[0] != 0xE0
        }
    }
}

extension MQTTReconnect {
    /// Hardly any pause, for thousands of connections.
    fileprivate static let hurried = MQTTReconnect(
        first: .milliseconds(1),
        cap: .milliseconds(2),
        slow: .milliseconds(1) ... .milliseconds(2)
    )
}
