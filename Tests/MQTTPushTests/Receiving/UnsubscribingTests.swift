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
