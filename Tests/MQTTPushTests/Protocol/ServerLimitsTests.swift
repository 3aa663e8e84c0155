import BrokerKit
import Logging
import SignalboxCore
import SignalboxRoutes
import SignalboxTesting
import TestSupport
import Testing

@testable import MQTTPush

/// What a broker announces in CONNACK (MQTT 5.0, 3.2.2.3), and the reasons that it gives.
@Suite(.timeLimit(.minutes(10)))
struct ServerLimitsTests {
    private func configuration(_ broker: ScriptedBroker) throws -> MQTTPushConfiguration {
        try .test(port: broker.port, [try MQTTTopic("push/{action}")])
    }

    /// Publishes with a broker that announces these properties, and returns the error.
    private func error(
        _ connack: [UInt8],
        _ message: MQTTMessage
    ) async throws -> (error: MQTTPublishError?, published: [ServerPacket]) {
        let broker = try ScriptedBroker.accepting(connack: connack)
        defer { broker.close() }
        var error: MQTTPublishError?
        try await PublisherTrial.run(try .test(port: broker.port)) { trial in
            error = await publishError { try await trial.publisher.publish(message) }
            // The connection goes on.
            try await trial.publisher.publish(MQTTMessage("", to: "a", qos: .atMostOnce))
        }
        return (error, broker.packets.filter { $0.type == 3 }.compactMap(\.content))
    }

    /// The broker acknowledges nothing, so what arrives before the next ping is what may be sent ahead.
    @Test(arguments: [1, 2, 5])
    func noMoreMessagesAreSentThanTheBrokersReceiveMaximum(maximum: UInt8) async throws {
        let broker = try ScriptedBroker.accepting(connack: [0x21, 0, maximum, 0x13, 0, 1]) { packet in
            packet.type == 3 ? .bytes([]) : nil
        }
        defer { broker.close() }
        var configuration = try MQTTPublisherConfiguration.test(port: broker.port)
        configuration.stopTimeout = .zero
        try await PublisherTrial.run(configuration) { trial in
            for number in 0..<10 { try trial.publisher.offer(MQTTMessage("\(number)", to: "a")) }
            let packets = await broker.packets { packets in
                packets.count { $0.type == 3 } >= Int(maximum) && packets.last?.type == 12
            }
            #expect(packets.count { $0.type == 3 } == Int(maximum))
        }
    }

    @Test func aMessageOverTheMaximumPacketSizeIsTooLarge() async throws {
        let message = MQTTMessage(String(repeating: "x", count: 60), to: "a")
        let (error, published) = try await error([0x27, 0, 0, 0, 68], message)
        #expect(error == nil && published.count == 2)
        let (larger, others) = try await self.error([0x27, 0, 0, 0, 67], message)
        #expect(larger?.code == .tooLarge && others.count == 1)
    }

    /// The broker offers no subscription identifiers, so that one SUBSCRIBE would have all topics.
    @Test func topicsAreSubscribedInPacketsOfTheMaximumSize() async throws {
        let broker = try ScriptedBroker.accepting(connack: [0x27, 0, 0, 0, 100, 0x29, 0])
        defer { broker.close() }
        let long = String(repeating: "x", count: 100)
        var configuration = try configuration(broker)
        configuration.topics =
            try (0..<40).map { try MQTTTopic("topic/\($0)/{action}") } + [try MQTTTopic("\(long)/{action}")]
        try await PushTrial.run(configuration, subscribed: false) { trial in
            #expect(
                await trial.waitForLog("refused the subscription to").contains("\"\(long)/+\": packet too large (149)")
            )
            await trial.waitForLog("subscribed to 40 topic filters")
            let subscribes = broker.packets.filter { $0.type == 8 }
            #expect(subscribes.allSatisfy { $0.bytes.count <= 100 && $0.connection == 0 } && subscribes.count > 5)
        }
    }

    @Test func filtersAreUnsubscribedInPacketsOfTheMaximumSize() async throws {
        let broker = try ScriptedBroker.accepting { packet in
            // With a session.
            packet.type == 1 ? .bytes(HostilePacket.packet(0x20, [1, 0, 5, 0x27, 0, 0, 0, 100])) : nil
        }
        defer { broker.close() }
        let session = try MQTTSession(
            try configuration(broker),
            logger: Logger(label: "push") { _ in SwiftLogNoOpLogHandler() }
        )
        let filters = try (0..<40).map { try TopicFilter("topic/\($0)") }
        #expect(try await session.unsubscribe(filters))
        let packets = broker.packets.filter { $0.type == 10 }
        #expect(packets.allSatisfy { $0.bytes.count <= 100 } && packets.count > 3)
        let long = try TopicFilter(String(repeating: "x", count: 100))
        let error = await #expect(throws: MQTTPushError.self) { try await session.unsubscribe([long]) }
        #expect(error?.code == .subscriptionRefused && error?.detail.contains("packet too large (149)") == true)
    }

    @Test func qos1IsNotSentIfTheBrokerDoesNotSupportIt() async throws {
        let (error, published) = try await error([0x24, 0x00], MQTTMessage("", to: "a"))
        #expect(error?.code == .unsupported && error?.detail.contains("QoS 1") == true)
        #expect(published.map(\.flags) == [0])
    }

    @Test func retainedMessagesAreNotSentIfTheBrokerDoesNotSupportThem() async throws {
        let message = MQTTMessage("", to: "a", retain: true)
        let (error, published) = try await error([0x25, 0x00], message)
        #expect(error?.code == .unsupported && error?.detail.contains("retained") == true)
        #expect(published.count == 1)
    }

    /// The client's own keepalive is 30 s.
    @Test func theBrokersKeepaliveReplacesTheClients() async throws {
        let broker = try ScriptedBroker.accepting(connack: [0x13, 0, 1])
        defer { broker.close() }
        try await PushTrial.run(try configuration(broker)) { _ in
            let packets = await broker.packets { $0.count { $0.type == 12 } >= 2 }
            #expect(packets.allSatisfy { $0.connection == 0 })
            #expect(packets.first?.content?.keepalive == 30)
        }
    }

    @Test(arguments: [(3_599, true), (3_600, false), (7_200, false)])
    func aShorterSessionIsReported(seconds: UInt32, isReported: Bool) async throws {
        let bytes = (0..<4).map { UInt8(truncatingIfNeeded: seconds >> (24 - 8 * $0)) }
        let broker = try ScriptedBroker.accepting(connack: [0x11] + bytes)
        defer { broker.close() }
        try await PushTrial.run(try configuration(broker)) { trial in
            let lines = trial.log.all.filter { $0.contains("keeps the session for 3599 s only, not for 3600 s") }
            #expect(lines.count == (isReported ? 1 : 0))
        }
    }

    @Test func anAssignedClientIDIsReported() async throws {
        let broker = try ScriptedBroker.accepting(connack: [0x12, 0, 1, 0x61])
        defer { broker.close() }
        try await PushTrial.run(try configuration(broker)) { trial in
            #expect(trial.log.all.count { $0.contains("assigned a client id although it has one") } == 1)
        }
    }

    @Test func connectHasUserProperties() async throws {
        let broker = try ScriptedBroker.accepting()
        defer { broker.close() }
        var configuration = try configuration(broker)
        configuration.connectProperties = [.init(name: "site", value: "north"), .init(name: "site", value: "7")]
        configuration.publishing = MQTTPublishing()
        try await PushTrial.run(configuration) { _ in
            _ = await broker.packets { $0.count { $0.type == 1 } == 2 }
        }
        for connect in broker.packets.filter({ $0.type == 1 }) {
            let properties = connect.content?.properties.filter { $0.id == 0x26 }
            #expect(properties?.map(\.value) == [.pair("site", "north"), .pair("site", "7")])
        }
        configuration.version = .v311
        #expect(throws: MQTTPushError.self) { try configuration.validate() }
        configuration.version = .v5
        configuration.connectProperties = .init(repeating: .init(name: "a", value: ""), count: 65)
        #expect(throws: MQTTPushError.self) { try configuration.validate() }
        configuration.connectProperties = [.init(name: "a\u{0}", value: "")]
        #expect(throws: MQTTPushError.self) { try configuration.validate() }
    }
}

/// Reason strings of a broker (MQTT 5.0, 3.2.2.3.9).
@Suite(.timeLimit(.minutes(10)))
struct ReasonStringTests {
    private static func reason(_ text: String) -> [UInt8] { [0x1F, 0, UInt8(text.utf8.count)] + Array(text.utf8) }

    private static func properties(_ text: String) -> [UInt8] {
        let reason = reason(text)
        return [UInt8(reason.count)] + reason
    }

    @Test func aReasonIsEscapedAndBounded() {
        let code = ReasonCode(rawValue: 135, reason: "line\nbreak\u{1B}[2J\u{202E}")
        #expect(code.text == "not authorized (135): \"line\\u{a}break\\u{1b}[2J\\u{202e}\"")
        #expect(ReasonCode(rawValue: 135, reason: String(repeating: "水", count: 256)).reason?.count == 256)
        let long = ReasonCode(rawValue: 135, reason: String(repeating: "水", count: 257)).reason
        #expect(long == String(repeating: "水", count: 256) + "…")
        // One character can have any number of scalars.
        let combined = ReasonCode(rawValue: 135, reason: "e" + String(repeating: "\u{301}", count: 60_000)).reason
        #expect(combined?.unicodeScalars.count == 257)
        #expect(ReasonCode(rawValue: 135).text == "not authorized (135)")
        #expect(code == ReasonCode(rawValue: 135) && Set([code, ReasonCode(rawValue: 135)]).count == 1)
    }

    @Test func theReasonOfEachRefusalIsLogged() async throws {
        // CONNACK, DISCONNECT and SUBACK, on one connection each.
        let broker = try ScriptedBroker { packet in
            switch (packet.connection, packet.type) {
            case (0, 1): return .bytes(HostilePacket.connack(Self.reason("no room"), code: 0x97))
            case (1, 8): return .bytes(HostilePacket.packet(0xE0, [0x98] + Self.properties("upgrade")))
            case (2, 8):
                return .bytes(HostilePacket.packet(0x90, packet.identifier + Self.properties("rule 7") + [0x87]))
            case (_, 1): return .bytes(FakeAnswers.connected)
            default: return .bytes(packet.acceptance)
            }
        }
        defer { broker.close() }
        let configuration = try MQTTPushConfiguration.test(port: broker.port, [try MQTTTopic("push/{action}")])
        try await PushTrial.run(configuration, subscribed: false) { trial in
            await trial.waitForLog("refused the connection: quota exceeded (151): \"no room\"")
            await trial.waitForLog("refused the subscription to \"push/+\": not authorized (135): \"rule 7\"")
            await trial.waitForLog("closed the connection: administrative action (152): \"upgrade\"")
        }
    }

    @Test func theReasonOfARefusedMessageIsInItsError() async throws {
        let broker = try ScriptedBroker.accepting { packet in
            guard packet.type == 3, let content = packet.content else { return nil }
            let id = [UInt8(content.packet >> 8), UInt8(truncatingIfNeeded: content.packet)]
            return .bytes(HostilePacket.packet(0x40, id + [0x97] + Self.properties("100 a day")))
        }
        defer { broker.close() }
        try await PublisherTrial.run(try .test(port: broker.port)) { trial in
            let error = await publishError { try await trial.publisher.publish(MQTTMessage("", to: "a")) }
            #expect(error?.code == .denied && error?.reasonCode == 151)
            #expect(error?.detail == "the broker refused the message: quota exceeded (151): \"100 a day\"")
        }
    }

    @Test func aRefusedUnsubscribeIsReported() async throws {
        let broker = try ScriptedBroker.accepting { packet in
            guard packet.type == 10 else { return nil }
            return .bytes(HostilePacket.packet(0xB0, packet.identifier + Self.properties("keep it") + [0x87]))
        }
        defer { broker.close() }
        let topics = [try MQTTTopic("push/{action}"), try MQTTTopic("more/{action}")]
        let log = EventList<String>()
        let logger = Logger(label: "push") { _ in RecordingLog(log) }
        let adapter = try MQTTPushAdapter(try .test(port: broker.port, topics), logger: logger)
        try await ServiceRun.during({ try await adapter.run(into: RecordingIntake()) }) {
            _ = await log.line(containing: "subscribed to")
            let error = await #expect(throws: MQTTPushError.self) { try await adapter.remove("more/+") }
            #expect(error?.code == .subscriptionRefused && error?.detail == "not authorized (135): \"keep it\"")
            #expect(log.all.contains { $0.contains("refused to end the subscription to \"more/+\"") })
            // It is not a topic any more.
            await #expect(throws: MQTTPushError.self) { try await adapter.remove("more/+") }
        }
    }
}
