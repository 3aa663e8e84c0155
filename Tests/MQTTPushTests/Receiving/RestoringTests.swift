import BrokerKit
import Logging
import SignalboxCore
import SignalboxRoutes
import SignalboxTesting
import TestSupport
import Testing

@testable import MQTTPush

/// Messages from a journal or a dead letter, which the adapter reads again.
@Suite struct RestoringTests {
    private static let now = WallTime(seconds: 1_000_000)

    private func configuration(_ topics: [MQTTTopic]) throws -> MQTTPushConfiguration {
        try MQTTPushConfiguration.test(port: 1_883, topics)
    }

    private func restore(
        _ message: StoredMessage,
        _ topics: [MQTTTopic],
        change: (inout MQTTPushConfiguration) -> Void = { _ in }
    ) throws -> Arrival {
        var configuration = try configuration(topics)
        change(&configuration)
        let quiet = Logger(label: "push") { _ in SwiftLogNoOpLogHandler() }
        let arrivals = try MQTTPushAdapter(configuration, logger: quiet).restore([message], at: Self.now)
        #expect(arrivals.map(\.token) == [0] && arrivals[0].receivedAt == message.receivedAt)
        #expect(arrivals[0].original.elementsEqual(message.original) && arrivals[0].origin.source == message.source)
        let arrival = try #require(arrivals.first)
        if !message.hasSenderID, let id = message.id, let action = try? arrival.reading.get() {
            #expect(action.id == id)
        }
        return arrival
    }

    /// Returns the stored form of a message as it arrives with these topics.
    private func message(
        _ payload: String = #"{"n":1}"#,
        on topic: String,
        _ topics: [MQTTTopic],
        retained: Bool = false,
        qos: Int = 1
    ) throws -> StoredMessage {
        let arrival = try configuration(topics).arrival(
            of: Array(payload.utf8),
            on: try TopicName(topic),
            retained: retained,
            qos: qos
        )
        return stored(try #require(arrival))
    }

    private func stored(_ arrival: Arrival) -> StoredMessage {
        StoredMessage(arrival, facts: StoredMessage.facts(of: arrival.origin.facts), at: Self.now)
    }

    private func rejection(_ arrival: Arrival) -> String? {
        guard case .failure(let rejection) = arrival.reading else { return nil }
        return rejection.detail
    }

    @Test func theCurrentTopicsApply() throws {
        let message = try message(on: "home/light", [MQTTTopic("home/{action}")], retained: true, qos: 0)
        #expect(message.action == "light")
        let topics = [try MQTTTopic("away/{action}"), try MQTTTopic("home/{room}", action: "switch")]
        let arrival = try restore(message, topics)
        let action = try arrival.reading.get()
        #expect(action.name == "switch" && action.body.jsonText == #"{"room":"light","n":1}"#)
        let facts = try #require(arrival.pushFacts)
        #expect(facts.topic == "home/light" && facts.retained && facts.qos == 0 && !facts.isRedelivered)
        #expect(facts.captures.map(\.name) == ["room"] && arrival.sender == nil)
        // Retained messages of a topic that ignores them now were accepted before.
        var ignoring = [try MQTTTopic("home/{action}")]
        ignoring[0].retained = .ignore
        #expect(try restore(message, ignoring).reading.get().name == "light")
    }

    @Test func aMessageThatNoTopicMatchedIsReadAgain() throws {
        let message = try message(on: "new/light", [MQTTTopic("home/{action}")])
        #expect(message.action == nil && message.envelope == .none)
        #expect(try restore(message, [MQTTTopic("new/{action}")]).reading.get().name == "light")
        #expect(try rejection(restore(message, [MQTTTopic("home/{action}")]))?.contains("none of the source") == true)
    }

    @Test func theTopicsOfAllConnectionsApply() async throws {
        let topics = [try MQTTTopic("urgent/{action}")]
        let message = try message(on: "urgent/fire", topics)
        let arrival = try restore(message, [MQTTTopic("home/{action}")]) {
            $0.connections = [MQTTConnection(name: "urgent", topics: topics)]
        }
        #expect(try arrival.reading.get().name == "fire")
    }

    @Test func pluginsHaveTheSenderThatPublishes() throws {
        let topics = [try MQTTTopic("home/{action}")]
        let arrival = try restore(try message(on: "home/light", topics), topics) {
            $0.publishing = MQTTPublishing()
            $0.publishing?.sendTopic = "out/{action}"
        }
        #expect(arrival.sender is PushSender)
    }

    /// A message that expires after a minute, with an MQTT 5 response topic.
    private func message(with properties: [UInt8], _ topics: [MQTTTopic]) throws -> StoredMessage {
        let receiver = PushReceiver(configuration: try configuration(topics))
        Array("home/light".utf8).withUnsafeBytes { topic in
            Array("{}".utf8).withUnsafeBytes { payload in
                properties.withUnsafeBytes { properties in
                    var message = BrokerMessage(topic: topic, payload: payload, isRetained: false, qos: 1)
                    message.properties = properties
                    _ = receiver.received(message, token: 7)
                }
            }
        }
        return stored(try #require(receiver.takeBatch().arrivals.first))
    }

    @Test func propertiesAndTheDeadlineAreKept() throws {
        let properties: [UInt8] = [2, 0, 0, 0, 60, 8, 0, 1, 0x72, 9, 0, 2, 0, 0xFF, 0x26, 0, 1, 0x61, 0, 1, 0x62]
        let topics = [try MQTTTopic("home/{action}")]
        var message = try message(with: properties, topics)
        let kept = try #require(restore(message, topics).pushFacts?.properties)
        #expect(kept.responseTopic == "r" && kept.correlationData == [0, 0xFF] && kept.messageExpiry == 60)
        #expect(kept.userProperties == [.init(name: "a", value: "b")] && kept.textBytes == 5)
        let left = try #require(restore(message, topics).reading.get().deadline) - .now
        #expect(left > .seconds(50) && left <= .seconds(60))
        message.expiresAt = Self.now.advanced(by: .seconds(-5))
        #expect(try #require(restore(message, topics).reading.get().deadline) < .now)
        // An action that could not be read has no stored deadline.
        message.expiresAt = nil
        message.receivedAt = Self.now.advanced(by: .seconds(-30))
        let rest = try #require(restore(message, topics).reading.get().deadline) - .now
        #expect(rest > .seconds(20) && rest <= .seconds(30))
    }

    @Test func aLostSessionIsAnnouncedAgain() throws {
        let receiver = PushReceiver(configuration: try configuration([MQTTTopic("a")]))
        receiver.isSessionLossPending = true
        receiver.announceSessionLoss { 3 }
        let message = stored(try #require(receiver.takeBatch().arrivals.first))
        let action = try restore(message, [MQTTTopic("b")]).reading.get()
        #expect(action.name == .pushSessionLost && action.body.jsonText.contains("client_id"))
    }

    @Test func aMessageThatWasCutIsNotRead() throws {
        var configuration = try configuration([MQTTTopic("home/{action}", payload: .text)])
        configuration.limits = MessageLimits(bytes: 10)
        let receiver = PushReceiver(configuration: configuration)
        Array("home/light".utf8).withUnsafeBytes { topic in
            Array("the beginning".utf8).withUnsafeBytes { payload in
                var message = BrokerMessage(topic: topic, payload: payload, isRetained: false, qos: 1)
                message.length = 100
                _ = receiver.received(message, token: 0)
            }
        }
        let message = stored(try #require(receiver.takeBatch().arrivals.first))
        let arrival = try restore(message, configuration.topics)
        #expect(arrival.pushFacts?.truncated == true)
        #expect(rejection(arrival)?.contains("only the beginning") == true)
    }

    @Test(arguments: ["null", "{}", #"{"broker":"b","topic":"a","captures":{},"retained":false,"qos":2,"tls":true}"#])
    func unreadableFactsPermitNothing(_ facts: String) throws {
        var message = try message(on: "home/light", [MQTTTopic("home/{action}")])
        message.facts = Bytes(facts)
        let arrival = try restore(message, [MQTTTopic("home/{action}")])
        #expect(rejection(arrival)?.contains("stored facts of kind push") == true)
        #expect(arrival.pushFacts == nil && arrival.origin.mustBeNamed)
        // The stored form of this arrival is not taken for a message without a topic.
        #expect(try restore(stored(arrival), [MQTTTopic("home/{action}")]).pushFacts == nil)
    }

    @Test func factsAreDecodedAsTheyWereEncoded() throws {
        var facts = PushFacts(
            broker: "b:1",
            topic: "a/\u{1}/é",
            captures: RouteCaptures([RouteCapture(name: "a", value: "\""), RouteCapture(name: "z", value: "")]),
            retained: true,
            qos: 1,
            tls: true,
            keepsSession: false
        )
        var properties = PushProperties()
        for _ in 0..<2 {
            let decoded = try Body(json: BodyWriter.write(facts)).decode(PushFacts.self)
            #expect(decoded == facts)
            properties.contentType = "t"
            properties.correlationData = [0, 1, 0xFE]
            properties.payloadFormat = 1
            properties.truncated = true
            _ = properties.admit(4)
            facts.properties = properties
            facts.truncated = true
        }
        let odd = Bytes(#"{"correlation_data":"0g"}"#)
        #expect(throws: (any Error).self) { try Body(json: odd).decode(PushProperties.self) }
    }
}

/// Requests of a source with a journal, whose outcome comes long after the acknowledgement.
@Suite(.timeLimit(.minutes(10))) struct AcceptedRequestTests {
    @Test func aRequestIsAnsweredAfterItsConnectionIsGone() async throws {
        try await Broker.with { broker in
            let seen = EventList<Void>()
            let intake = RecordingIntake { taken in
                let isFirst = seen.all.isEmpty
                seen.append(())
                if !isFirst { taken.echo() }
            }
            try await PushTrial.run(try .answering(broker), into: intake, through: { AcceptingIntake(intake: $0) }) {
                receiving in
                await receiving.waitForLog("subscribed to", times: 1)
                try await PublisherTrial.run(.test(port: broker.port)) { trial in
                    async let call = trial.request("1", "open/echo/1")
                    let held = await intake.taken.first(1)[0]
                    await broker.stop()
                    try await broker.restart()
                    // The source has acknowledged the first request, and uses its place in the ring again.
                    let other = try await trial.request("2", "open/echo/2")
                    held.echo()
                    let answer = try await call
                    #expect(other == "2" && answer == "1")
                }
            }
            #expect(intake.taken.all.count == 2)
        }
    }
}
