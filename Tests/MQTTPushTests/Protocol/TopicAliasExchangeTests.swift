import BrokerKit
import SignalboxCore
import SignalboxTesting
import TestSupport
import Testing

@testable import MQTTPush

/// Topic aliases of a broker and of a publisher, on whole connections.
@Suite(.timeLimit(.minutes(10)))
struct TopicAliasExchangeTests {
    /// Returns a QoS 0 message with an alias.
    private static func message(_ topic: String, _ alias: UInt16) -> [UInt8] {
        let bytes = [0x23, UInt8(alias >> 8), UInt8(truncatingIfNeeded: alias)]
        return HostilePacket.publish(Array(topic.utf8), properties: bytes)
    }

    /// Runs a source with a broker that sends these messages after SUBACK, one element for each connection.
    private func receive(
        _ messages: [[UInt8]],
        _ body: (PushTrial, ScriptedBroker) async throws -> Void
    ) async throws {
        let broker = try ScriptedBroker.accepting { packet in
            guard packet.type == 8 else { return nil }
            return .bytes(packet.acceptance + (packet.connection < messages.count ? messages[packet.connection] : []))
        }
        defer { broker.close() }
        let configuration = try MQTTPushConfiguration.test(port: broker.port, [try MQTTTopic("push/{action}")])
        // A violation in the same read as SUBACK ends the connection before the subscription is logged.
        try await PushTrial.run(configuration, subscribed: false) { try await body($0, broker) }
    }

    @Test func anAliasStandsForTheTopicThatTheBrokerSetLast() async throws {
        let messages = [
            Self.message("push/one", 1), Self.message("", 1), Self.message("push/two", 1),
            Self.message("push/three", 32),
            Self.message("", 1), Self.message("", 32),
        ]
        try await receive([messages.flatMap { $0 }]) { trial, broker in
            let arrivals = await trial.arrivals(6)
            #expect(arrivals.map(\.actionName) == ["one", "one", "two", "three", "two", "three"])
            #expect(arrivals[1].pushFacts?.topic == "push/one")
            // The alias is between the broker and the client.
            #expect(arrivals.allSatisfy { $0.pushFacts?.properties == nil })
            #expect(broker.packets.first?.content?.number(0x22) == 32)
        }
    }

    /// The properties of a publisher, each beside an alias and two subscription identifiers.
    private static let publishers: [[UInt8]] = [
        [0x01, 0x01], [0x02, 0, 0, 0, 9], [0x03, 0, 1, 0x61], [0x08, 0, 1, 0x61], [0x09, 0, 1, 0x61],
        [0x26, 0, 1, 0x61, 0, 1, 0x62],
    ]

    @Test func thePublishersPropertiesAreKeptBesideThoseOfTheBroker() async throws {
        let brokers: [UInt8] = [0x0B, 0x05, 0x23, 0x00, 0x01, 0x0B, 0x80, 0x01]
        let messages = (Self.publishers + [[]]).flatMap { property in
            HostilePacket.publish(Array("push/one".utf8), properties: brokers + property)
        }
        try await receive([messages]) { trial, _ in
            let properties = await trial.arrivals(7).map(\.pushFacts?.properties)
            let kept = properties.map {
                $0.map { String(describing: $0.payloadFormat ?? 0) + " \($0.messageExpiry ?? 0)" }
            }
            #expect(kept == ["1 0", "0 9", "0 0", "0 0", "0 0", "0 0", nil])
            #expect(properties[2]?.contentType == "a" && properties[3]?.responseTopic == "a")
            #expect(properties[4]?.correlationData == [0x61])
            #expect(properties[5]?.userProperties == [.init(name: "a", value: "b")])
        }
    }

    @Test func eachOf32AliasesMayBeSet() async throws {
        let definitions = (1...32).flatMap { Self.message("push/n\($0)", UInt16($0)) }
        let uses = (1...32).flatMap { Self.message("", UInt16($0)) }
        try await receive([definitions + uses]) { trial, _ in
            let names = await trial.arrivals(64).map(\.actionName)
            #expect(names == (1...32).map { "n\($0)" } + (1...32).map { "n\($0)" })
        }
    }

    @Test(arguments: [("push/one", 0, 0x94), ("push/one", 33, 0x94), ("", 0, 0x94), ("", 33, 0x94), ("", 2, 0x82)])
    func aWrongAliasEndsTheConnection(topic: String, alias: UInt16, code: UInt8) async throws {
        try await receive([Self.message("push/good", 1) + Self.message(topic, alias)]) { trial, broker in
            await trial.waitForLog("violated the MQTT protocol (PUBLISH")
            await trial.waitForLog("subscribed to")
            let last = await broker.packets { $0.contains { $0.type == 14 } }.first { $0.type == 14 }
            #expect(last?.content?.reason == code)
            #expect(trial.intake.taken.all.map(\.arrival.actionName) == ["good"])
        }
    }

    @Test func anAliasEndsWithItsConnection() async throws {
        // The second connection breaks off because of its alias.
        let first = Self.message("push/one", 1) + [0xE0, 0x00]
        try await receive([first, Self.message("", 1)]) { trial, _ in
            await trial.waitForLog("the topic alias is not set")
            await trial.waitForLog("subscribed to")
            #expect(trial.intake.taken.all.count == 1)
        }
    }

    @Test func aPublisherUsesTheAliasesOfItsConnection() async throws {
        // The first connection ends at the third message, which the publisher sends again.
        let broker = try ScriptedBroker.accepting(connack: [0x22, 0, 1]) { packet in
            guard packet.connection == 0, packet.content?.payload == Array("3".utf8) else { return nil }
            return .last([])
        }
        defer { broker.close() }
        try await PublisherTrial.run(try .test(port: broker.port)) { trial in
            for payload in ["1", "2", "3", "4"] {
                try await trial.publisher.publish(MQTTMessage(payload, to: "a/long/topic"))
            }
            try await trial.publisher.publish(MQTTMessage("5", to: "another/topic"))
            try await trial.publisher.publish(MQTTMessage("6", to: "short"))
        }
        let published = broker.packets.filter { $0.type == 3 }.compactMap(\.content)
        let texts = published.map {
            "\(String(decoding: $0.payload, as: UTF8.self)) \($0.topicText) \($0.number(0x23) ?? 0)"
        }
        #expect(
            texts == [
                "1 a/long/topic 1", "2  1", "3  1", "3 a/long/topic 1", "4  1", "5 another/topic 1", "6 short 0",
            ]
        )
    }

    @Test func aPublisherUsesNoAliasesUnlessTheBrokerAllowsThem() async throws {
        let broker = try ScriptedBroker.accepting()
        defer { broker.close() }
        try await PublisherTrial.run(try .test(port: broker.port)) { trial in
            for _ in 0..<2 { try await trial.publisher.publish(MQTTMessage("1", to: "a/long/topic")) }
        }
        let published = broker.packets.filter { $0.type == 3 }.compactMap(\.content)
        #expect(published.map(\.topicText) == ["a/long/topic", "a/long/topic"])
        #expect(published.allSatisfy { $0.number(0x23) == nil })
    }
}
