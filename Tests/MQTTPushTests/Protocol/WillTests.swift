import BrokerKit
import SignalboxCore
import SignalboxTesting
import TestSupport
import Testing

@testable import MQTTPush

/// The delay and the properties of wills.
@Suite(.timeLimit(.minutes(10)))
struct WillTests {
    private static func will() -> MQTTWill {
        var will = MQTTWill(topic: "wills/gone", payload: Array("\"bye\"".utf8))
        will.delay = .seconds(2)
        will.expiry = .seconds(3)
        will.contentType = "application/json"
        will.responseTopic = "answers"
        will.correlation = [1, 2]
        will.isText = true
        will.userProperties = [.init(name: "a", value: "b")]
        return will
    }

    private func configuration(_ port: Int, clientID: String = "signalbox-test") throws -> MQTTPushConfiguration {
        try .test(port: port, [try MQTTTopic("push/{action}")], clientID: clientID)
    }

    @Test func connectHasTheDelayAndAllProperties() async throws {
        let broker = try ScriptedBroker.accepting()
        defer { broker.close() }
        var configuration = try configuration(broker.port)
        configuration.will = Self.will()
        try await PushTrial.run(configuration) { _ in }
        let connect = try #require(broker.packets.first?.content)
        #expect(connect.topicText == "wills/gone" && connect.payload == Array("\"bye\"".utf8))
        let expected: [ServerPacket.Property] = [
            .init(id: 0x01, value: .number(1)), .init(id: 0x02, value: .number(3)),
            .init(id: 0x03, value: .text("application/json")), .init(id: 0x08, value: .text("answers")),
            .init(id: 0x09, value: .data([1, 2])), .init(id: 0x18, value: .number(2)),
            .init(id: 0x26, value: .pair("a", "b")),
        ]
        #expect(connect.willProperties == expected)
    }

    @Test func aPublishersWillHasItsProperties() async throws {
        let broker = try ScriptedBroker.accepting()
        defer { broker.close() }
        var configuration = try MQTTPublisherConfiguration.test(port: broker.port)
        var will = Self.will()
        will.delay = .zero
        configuration.will = will
        try await PublisherTrial.run(configuration) { _ in }
        let connect = try #require(broker.packets.first?.content)
        #expect(connect.willProperties.map(\.id) == [0x01, 0x02, 0x03, 0x08, 0x09, 0x26])
    }

    /// The broker waits for the delay, and a client that comes back in time has no will published.
    @Test func theBrokerPublishesTheWillAfterTheDelayWithItsProperties() async throws {
        try await Broker.with { broker in
            let relay = try Relay()
            defer { relay.close() }
            relay.forward(to: UInt16(broker.port))
            var source = try configuration(Int(relay.port))
            source.will = Self.will()
            var watching = try configuration(broker.port, clientID: "watching")
            watching.topics = [try MQTTTopic("wills/{action}")]
            try await PushTrial.run(watching) { watcher in
                try await PushTrial.run(source) { trial in
                    relay.cut()
                    relay.mend()
                    await trial.waitForLog("subscribed to", times: 2)
                    // It would follow the will of the first connection.
                    try await broker.publish("{}", to: "wills/none")
                    #expect(await watcher.arrivals(1).map(\.actionName) == ["none"])
                    relay.cut()
                    let arrivals = await watcher.arrivals(2)
                    #expect(arrivals[1].actionName == "gone")
                    let properties = arrivals[1].pushFacts?.properties
                    #expect(properties?.contentType == "application/json" && properties?.responseTopic == "answers")
                    #expect(properties?.correlationData == [1, 2] && properties?.payloadFormat == 1)
                    #expect(properties?.userProperties == [.init(name: "a", value: "b")])
                    #expect(properties?.messageExpiry.map { $0 <= 3 } == true)
                    relay.mend()
                    await trial.waitForLog("subscribed to", times: 3)
                }
            }
        }
    }

    private static let changes: [@Sendable (inout MQTTWill) -> Void] = [
        { $0.delay = .seconds(1) }, { $0.expiry = .seconds(1) }, { $0.contentType = "" }, { $0.responseTopic = "a" },
        { $0.correlation = [] }, { $0.isText = true }, { $0.userProperties = [.init(name: "", value: "")] },
    ]

    @Test func mqtt311HasNoDelayAndNoProperties() throws {
        for change in Self.changes {
            var configuration = try configuration(1)
            var will = MQTTWill(topic: "a", payload: [])
            change(&will)
            configuration.will = will
            try configuration.validate()
            configuration.version = .v311
            let error = #expect(throws: MQTTPushError.self) { try configuration.validate() }
            #expect(error?.detail.contains("MQTT 3.1.1 has no will delay and no properties of wills") == true)
        }
    }

    private static let mistakes: [(@Sendable (inout MQTTWill) -> Void, String)] = [
        ({ $0.delay = .milliseconds(500) }, "delay must be a whole number"),
        ({ $0.delay = .seconds(4_294_967_296) }, "delay must be a whole number"),
        ({ $0.delay = .seconds(-1) }, "delay must be a whole number"),
        ({ $0.expiry = .zero }, "expiry must be a whole number"),
        ({ $0.expiry = .seconds(4_294_967_296) }, "expiry must be a whole number"),
        ({ $0.responseTopic = "a/#" }, "the will: the response topic"),
        ({ $0.contentType = "a\u{1B}" }, "no control characters"),
        ({ $0.correlation = [UInt8](repeating: 0, count: 65_536) }, "at most 65535 bytes"),
        (
            { $0.userProperties = .init(repeating: .init(name: "a", value: "b"), count: 65) },
            "at most 64 user properties"
        ),
        (
            { will in
                will.isText = true
                will.payload = [0xFF]
            }, "not UTF-8"
        ),
    ]

    @Test func invalidPropertiesAreRefused() throws {
        for (change, text) in Self.mistakes {
            var configuration = try configuration(1)
            var will = MQTTWill(topic: "a", payload: [])
            change(&will)
            configuration.will = will
            let error = #expect(throws: MQTTPushError.self) { try configuration.validate() }
            #expect(error?.detail.contains(text) == true, "\(error?.detail ?? "")")
        }
    }

    @Test func aDelayNeedsASession() throws {
        var will = MQTTWill(topic: "a", payload: [])
        will.delay = .seconds(1)
        var source = try configuration(1)
        source.will = will
        source.sessionExpiry = .zero
        let error = #expect(throws: MQTTPushError.self) { try source.validate() }
        #expect(error?.detail.contains("without a session, the broker publishes the will at once") == true)
        var publisher = try MQTTPublisherConfiguration.test(port: 1)
        publisher.will = will
        #expect(throws: MQTTPushError.self) { try publisher.validate() }
    }

    @Test func aMessageSaysThatItIsText() async throws {
        let broker = try ScriptedBroker.accepting()
        defer { broker.close() }
        var message = MQTTMessage("grüße", to: "a")
        message.isText = true
        try await PublisherTrial.run(try .test(port: broker.port)) { [message] trial in
            try await trial.publisher.publish(message)
            var binary = message
            binary.payload = [0xC3]
            let error = await publishError { try await trial.publisher.publish(binary) }
            #expect(error?.code == .invalidMessage)
            #expect(error?.detail.contains("not UTF-8") == true)
        }
        let published = broker.packets.filter { $0.type == 3 }.compactMap(\.content)
        #expect(published.map { $0.number(0x01) } == [1])
        #expect(throws: MQTTPublishError.self) { try message.validate(for: .v311) }
    }
}
