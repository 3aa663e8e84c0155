import BrokerKit
import Foundation
import Logging
import SignalboxCore
import SignalboxRoutes
import SignalboxTesting
import TestSupport
import Testing

@testable import MQTTPush

/// Ending subscriptions and sessions of a source that does not run, and those that a new configuration leaves out.
@Suite(.timeLimit(.minutes(10)))
struct UnsubscribingTests {
    private func configuration(_ broker: Broker, _ version: MQTTVersion = .v5) throws -> MQTTPushConfiguration {
        let topics = [try MQTTTopic("gone/{action}"), try MQTTTopic("kept/{action}")]
        var configuration = try MQTTPushConfiguration.test(broker, topics)
        configuration.version = version
        return configuration
    }

    private func session(_ configuration: MQTTPushConfiguration, of connection: String? = nil) throws -> MQTTSession {
        try MQTTSession(
            configuration,
            connection: connection,
            logger: Logger(label: "push") { _ in SwiftLogNoOpLogHandler() }
        )
    }

    private func names(_ arrivals: [Arrival]) -> [String] {
        arrivals.map { (try? $0.reading.get().name.text) ?? "unreadable" }
    }

    /// Makes a session with both subscriptions and three waiting messages, ends one subscription, and returns what the
    /// session's next client gets.
    private func messagesAfterUnsubscribing(
        _ configuration: MQTTPushConfiguration,
        _ broker: Broker
    ) async throws -> [String] {
        try await PushTrial.run(configuration) { _ in }
        for topic in ["gone/one", "kept/one", "gone/two"] { try await broker.publish("{}", to: topic) }
        #expect(try await session(configuration).unsubscribe([TopicFilter("gone/+")]))
        try await broker.publish("{}", to: "gone/late")
        try await broker.publish("{}", to: "kept/late")
        var next = configuration
        next.topics.removeFirst()
        next.otherTopics = [configuration.topics[0]]
        let intake = RecordingIntake()
        try await PushTrial.run(next, into: intake) { trial in
            try await broker.publish("{}", to: "gone/last")
            try await broker.publish("{}", to: "kept/last")
            _ = await trial.arrivals(5)
        }
        return names(intake.taken.all.map(\.arrival))
    }

    @Test(arguments: MQTTVersion.allCases)
    func waitingMessagesStayForTheNextClient(version: MQTTVersion) async throws {
        try await Broker.with { broker in
            let names = try await messagesAfterUnsubscribing(try configuration(broker, version), broker)
            #expect(names == ["one", "one", "two", "late", "last"])
        }
    }

    /// A clean start would discard the session, and a broker discards what is larger than a client accepts.
    @Test func aCleanStartAndALimitDiscardNothing() async throws {
        try await Broker.with { broker in
            let configuration = try configuration(broker)
            try await PushTrial.run(configuration) { _ in }
            try await broker.publish("\"" + String(repeating: "x", count: 10_000) + "\"", to: "gone/large")
            var narrow = configuration
            narrow.cleanStart = true
            narrow.limits.bytes = 1_024
            #expect(try await session(narrow).unsubscribe([TopicFilter("gone/+")]))
            try await PushTrial.run(configuration) { trial in #expect(names(await trial.arrivals(1)) == ["large"]) }
            narrow.sessionExpiry = .zero
            let ending = try session(narrow)
            await #expect(throws: MQTTPushError.self) { try await ending.unsubscribe([TopicFilter("gone/+")]) }
        }
    }

    @Test func waitingMessagesStayWithTLS() async throws {
        let authority = try await TestAuthority()
        defer { authority.remove() }
        var options = BrokerOptions()
        options.security = .tls(authority)
        try await Broker.with(options) { broker in
            var configuration = try configuration(broker)
            configuration.broker = try MQTTBroker(host: "localhost", port: broker.port, usesTLS: true)
            configuration.security = .tls(.authority(file: authority.authorityFile))
            let names = try await messagesAfterUnsubscribing(configuration, broker)
            #expect(names == ["one", "one", "two", "late", "last"])
        }
    }

    @Test(arguments: MQTTVersion.allCases)
    func aMissingSessionIsReportedAndNotCreated(version: MQTTVersion) async throws {
        try await Broker.with { broker in
            let configuration = try configuration(broker, version)
            for _ in 0..<2 {
                #expect(try await !session(configuration).unsubscribe([TopicFilter("gone/+")]))
                #expect(try await !session(configuration).end())
            }
        }
    }

    @Test(arguments: MQTTVersion.allCases)
    func anEndedSessionHasNoMessages(version: MQTTVersion) async throws {
        try await Broker.with { broker in
            let configuration = try configuration(broker, version)
            try await PushTrial.run(configuration) { _ in }
            try await broker.publish("{}", to: "gone/one")
            #expect(try await session(configuration).end())
            try await broker.publish("{}", to: "gone/two")
            try await PushTrial.run(configuration) { trial in
                try await broker.publish("{}", to: "gone/three")
                #expect(names(await trial.arrivals(1)) == ["three"])
            }
        }
    }

    @Test func aFurtherConnectionHasItsOwnSession() async throws {
        try await Broker.with { broker in
            var configuration = try configuration(broker)
            configuration.connections = [MQTTConnection(name: "urgent", topics: [try MQTTTopic("urgent/{action}")])]
            try await PushTrial.run(configuration) { await $0.waitForLog("subscribed to", times: 2) }
            #expect(try await session(configuration, of: "urgent").end())
            #expect(try await !session(configuration, of: "urgent").end())
            #expect(try await session(configuration).end())
            #expect(throws: MQTTPushError.self) { try session(configuration, of: "other") }
        }
    }

    /// More filters than fit into one packet of 8 KiB.
    @Test func aThousandFiltersTakeSeveralPackets() async throws {
        try await Broker.with { broker in
            var configuration = try configuration(broker)
            let name = String(repeating: "x", count: 40)
            configuration.topics = try (0..<1_000).map { try MQTTTopic("gone/\(name)/\($0)", action: "many") }
            try await PushTrial.run(configuration) { _ in }
            #expect(try await session(configuration).unsubscribe(configuration.topics.map(\.pattern.filter)))
            try await broker.publish("{}", to: "gone/\(name)/999")
            configuration.otherTopics = configuration.topics
            configuration.topics = [try MQTTTopic("kept/{action}")]
            try await PushTrial.run(configuration) { trial in
                try await broker.publish("{}", to: "kept/last")
                #expect(names(await trial.arrivals(1)) == ["last"])
            }
        }
    }

    @Test func formerTopicsAreUnsubscribedAndTheirWaitingMessagesRead() async throws {
        try await Broker.with { broker in
            let configuration = try configuration(broker)
            try await PushTrial.run(configuration) { _ in }
            try await broker.publish("{}", to: "gone/waiting")
            var next = configuration
            // A former topic that the source still has stays subscribed.
            next.formerTopics = next.topics
            next.topics.removeFirst()
            let intake = RecordingIntake()
            try await PushTrial.run(next, into: intake) { trial in
                #expect(names(await trial.arrivals(1)) == ["waiting"])
            }
            try await broker.publish("{}", to: "gone/late")
            try await broker.publish("{}", to: "kept/late")
            next.formerTopics = []
            try await PushTrial.run(next) { trial in #expect(names(await trial.arrivals(1)) == ["late"]) }
        }
    }

    @Test func aSessionNeedsAFixedClientID() throws {
        let topics = [try MQTTTopic("a/{action}")]
        let broker = try MQTTBroker(host: "127.0.0.1", port: 1)
        let configuration = MQTTPushConfiguration.withoutSession(source: "push", broker: broker, topics: topics)
        #expect(throws: MQTTPushError.self) { try session(configuration) }
    }

    @Test func theFirstFailureIsReportedOrRetried() async throws {
        let (socket, port) = try LoopbackPort.refusing()
        defer { close(socket) }
        var configuration = try MQTTPushConfiguration.test(port: Int(port), [try MQTTTopic("a/{action}")])
        configuration.firstConnectionMustSucceed = true
        let strict = try session(configuration)
        await #expect { try await strict.end() } throws: { ($0 as? MQTTPushError)?.code == .notConnected }
        configuration.firstConnectionMustSucceed = false
        let log = EventList<String>()
        let patient = try MQTTSession(configuration, logger: Logger(label: "push") { _ in RecordingLog(log) })
        let ending = Task { try await patient.end() }
        _ = await log.line(containing: "cannot reach ")
        ending.cancel()
        await #expect(throws: MQTTPushError.self) { try await ending.value }
    }
}

/// The end of a session with the DISCONNECT of its connection (MQTT 5.0, 3.14.2.2.2).
@Suite(.timeLimit(.minutes(10)))
struct SessionEndTests {
    /// CONNACK of a broker that has a session.
    private static let resumed: [UInt8] = [0x20, 0x03, 0x01, 0x00, 0x00]

    private func session(_ broker: ScriptedBroker, expiry: Duration = .seconds(60)) throws -> MQTTSession {
        var configuration = try MQTTPushConfiguration.test(port: broker.port, [try MQTTTopic("a/{action}")])
        configuration.sessionExpiry = expiry
        configuration.lingerTimeout = .seconds(300)
        return try MQTTSession(configuration, logger: Logger(label: "push") { _ in SwiftLogNoOpLogHandler() })
    }

    /// Answers with the bytes, and closes the connection after DISCONNECT.
    private func broker(_ connack: [UInt8], _ unsuback: UInt8 = 0) throws -> ScriptedBroker {
        try ScriptedBroker { packet in
            switch packet.type {
            case 1: .bytes(connack)
            case 10: .bytes(HostilePacket.packet(0xB0, packet.identifier + [0, unsuback]))
            case 14: .last([])
            default: .bytes([])
            }
        }
    }

    @Test func oneConnectionEndsTheSession() async throws {
        let broker = try broker(Self.resumed)
        defer { broker.close() }
        #expect(try await session(broker).end())
        let packets = broker.packets.compactMap(\.content)
        #expect(packets.map(\.type) == [1, 14])
        #expect(packets[0].connectFlags & 0x02 == 0 && packets[0].number(0x11) == 60)
        #expect(packets[1].reason == 0 && packets[1].number(0x11) == 0)
    }

    /// In a session that ends with its connection, DISCONNECT has nothing to change.
    @Test func aSessionWithoutExpiryEndsWithItsConnection() async throws {
        let broker = try broker(Self.resumed)
        defer { broker.close() }
        #expect(try await session(broker, expiry: .zero).end())
        let packets = broker.packets.compactMap(\.content)
        #expect(packets.map(\.type) == [1, 14])
        #expect(packets[0].number(0x11) == 0 && packets[1].properties.isEmpty)
    }

    /// A reset instead of a close does not tell whether the broker has read DISCONNECT.
    @Test func aSecondConnectionDiscardsTheSessionIfTheBrokerDoesNotConfirmItsEnd() async throws {
        let broker = try ScriptedBroker { packet in
            packet.type == 1 ? .bytes(packet.connection == 0 ? Self.resumed : FakeAnswers.connected) : .bytes([])
        }
        defer { broker.close() }
        var configuration = try MQTTPushConfiguration.test(port: broker.port, [try MQTTTopic("a/{action}")])
        configuration.lingerTimeout = .zero
        let session = try MQTTSession(configuration, logger: Logger(label: "push") { _ in SwiftLogNoOpLogHandler() })
        #expect(try await session.end())
        let connects = await broker.packets { $0.count { $0.type == 1 } == 2 }.filter { $0.type == 1 }
        #expect(connects.map { $0.content?.connectFlags } == [0, 2])
        #expect(connects.last?.content?.number(0x11) == 0)
    }

    @Test func aSessionThatTheConnectionHasCreatedEndsWithIt() async throws {
        let broker = try broker(FakeAnswers.connected)
        defer { broker.close() }
        #expect(try await !session(broker).unsubscribe([TopicFilter("a/+")]))
        let packets = broker.packets.compactMap(\.content)
        #expect(packets.map(\.type) == [1, 14] && packets[1].number(0x11) == 0)
    }

    @Test func unsubscribingKeepsTheSession() async throws {
        let broker = try broker(Self.resumed)
        defer { broker.close() }
        #expect(try await session(broker).unsubscribe([TopicFilter("a/+")]))
        let packets = broker.packets.compactMap(\.content)
        #expect(packets.map(\.type) == [1, 10, 14] && packets[2].properties.isEmpty)
    }

    @Test func aRefusedUnsubscribeIsAnError() async throws {
        let broker = try broker(Self.resumed, 0x87)
        defer { broker.close() }
        let session = try session(broker)
        let error = await #expect(throws: MQTTPushError.self) { try await session.unsubscribe([TopicFilter("a/+")]) }
        #expect(error?.code == .subscriptionRefused && error?.detail.contains("not authorized (135)") == true)
        #expect(broker.packets.compactMap(\.content).last?.properties.isEmpty == true)
    }

    /// Runs a source with a broker of this kind, and returns its last packet.
    private func lastPacket(
        expiry: Duration,
        _ work: (MQTTPushAdapter) -> Void
    ) async throws -> ServerPacket? {
        let broker = try ScriptedBroker.accepting()
        defer { broker.close() }
        var configuration = try MQTTPushConfiguration.test(port: broker.port, [try MQTTTopic("a/{action}")])
        configuration.sessionExpiry = expiry
        let log = EventList<String>()
        let adapter = try MQTTPushAdapter(configuration, logger: Logger(label: "push") { _ in RecordingLog(log) })
        try await ServiceRun.during({ try await adapter.run(into: RecordingIntake()) }) {
            _ = await log.line(containing: "subscribed to")
            work(adapter)
        }
        return await broker.packets { $0.contains { $0.type == 14 } }.last?.content
    }

    @Test func theStopOfASourceEndsItsSessionIfWanted() async throws {
        let ended = try await lastPacket(expiry: .seconds(60)) { $0.endSessionsOnStop() }
        #expect(ended?.type == 14 && ended?.reason == 0 && ended?.number(0x11) == 0)
        let kept = try await lastPacket(expiry: .seconds(60)) { _ in }
        #expect(kept?.type == 14 && kept?.properties.isEmpty == true)
        let none = try await lastPacket(expiry: .zero) { $0.endSessionsOnStop() }
        #expect(none?.type == 14 && none?.properties.isEmpty == true)
    }
}
