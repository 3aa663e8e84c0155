import BrokerKit
import Foundation
import SignalboxCore
import SignalboxRoutes
import Testing

@testable import MQTTPush

@Suite(.timeLimit(.minutes(10)))
struct ReceivingTests {
    private struct DeviceMessage: Decodable, Equatable {
        let device: String
        let text: String
    }

    @Test func aTopicNamesTheActionAndItsCapturesJoinTheBody() async throws {
        try await Broker.with { broker in
            try await PushTrial.run(try .test(broker, [try MQTTTopic("push/{device}/{action}/{id}")])) { trial in
                try await broker.publish(#"{"text": "hello"}"#, to: "push/kiosk-1/loading/17")
                let arrival = await trial.arrivals(1)[0]
                let action = try arrival.action()
                #expect(action.name == "loading")
                #expect(action.id.text == "17")
                #expect(try action.body.decode(DeviceMessage.self) == DeviceMessage(device: "kiosk-1", text: "hello"))
                #expect(arrival.origin.source == "push")
                let facts = try #require(arrival.pushFacts)
                #expect(facts.broker == "127.0.0.1:\(broker.port)")
                #expect(facts.topic == "push/kiosk-1/loading/17")
                #expect(
                    facts.captures.map { "\($0.name)=\($0.value)" } == ["device=kiosk-1", "action=loading", "id=17"]
                )
                #expect(!facts.retained && facts.qos == 1 && !facts.tls && facts.properties == nil)
            }
        }
    }

    @Test func aPayloadWithoutATopicActionIsAnEnvelope() async throws {
        try await Broker.with { broker in
            try await PushTrial.run(try .test(broker, [try MQTTTopic("push/{device}")])) { trial in
                let envelope = #"{"action": "loading", "id": "a", "body": {"text": "hello"}}"#
                try await broker.publish(envelope, to: "push/kiosk-1")
                let action = try await trial.arrivals(1)[0].action()
                #expect(action.name == "loading" && action.id.text == "a")
                #expect(try action.body.decode(DeviceMessage.self) == DeviceMessage(device: "kiosk-1", text: "hello"))
            }
        }
    }

    @Test func eachPatternHasItsPayloadKindAndItsAction() async throws {
        let topics = [
            try MQTTTopic("home/temperature", payload: .text, action: "temperature"),
            try MQTTTopic("home/attic/{action}", payload: .bytes),
        ]
        try await Broker.with { broker in
            try await PushTrial.run(try .test(broker, topics)) { trial in
                try await broker.publish("21.5", to: "home/temperature")
                try await broker.publish([0xFF, 0x00], to: "home/attic/raw")
                try await broker.publish([], to: "home/attic/empty")
                let arrivals = try await trial.arrivals(3).map { try $0.action() }
                #expect(arrivals.map(\.name.text) == ["temperature", "raw", "empty"])
                #expect(try arrivals[0].body.decode(String.self) == "21.5")
                #expect(try Array(arrivals[1].body.decode(Bytes.self)) == [0xFF, 0x00])
                #expect(try arrivals[2].body.decode(String?.self) == nil)
            }
        }
    }

    @Test func aStoredMessageIsMarkedAsRetainedAndALiveOneIsNot() async throws {
        try await Broker.with { broker in
            try await broker.publish("{}", to: "push/a/status", retain: true)
            try await PushTrial.run(try .test(broker, [try MQTTTopic("push/{device}/{action}")])) { trial in
                #expect(await trial.arrivals(1)[0].pushFacts?.retained == true)
                try await broker.publish("{}", to: "push/a/status", retain: true)
                #expect(await trial.arrivals(2)[1].pushFacts?.retained == false)
            }
        }
    }

    @Test func propertiesAreFactsAndAnExpiryIsADeadline() async throws {
        let properties = [
            ["content-type", "application/json"], ["response-topic", "answers/1"], ["correlation-data", "c-1"],
            ["user-property", "a", "1"], ["user-property", "a", "2"], ["message-expiry-interval", "90"],
        ]
        try await Broker.with { broker in
            try await PushTrial.run(try .test(broker, [try MQTTTopic("push/{action}")])) { trial in
                try await broker.publish(Array("{}".utf8), to: "push/loading", properties: properties)
                try await broker.publish("{}", to: "push/loading")
                let arrivals = await trial.arrivals(2)
                let received = try #require(arrivals[0].pushFacts?.properties)
                #expect(received.contentType == "application/json" && received.responseTopic == "answers/1")
                #expect(received.correlationData == Array("c-1".utf8))
                #expect(received.userProperties.map { "\($0.name)=\($0.value)" } == ["a=1", "a=2"])
                let expiry = try #require(received.messageExpiry)
                #expect((1...90).contains(expiry))
                #expect(try arrivals[0].action().deadline != nil)
                #expect(arrivals[1].pushFacts?.properties == nil)
            }
        }
    }

    @Test func messagesOfOneTopicShareTheirOriginAndKeepTheirOrder() async throws {
        try await Broker.with { broker in
            let configuration = try MQTTPushConfiguration.test(broker, [try MQTTTopic("push/{action}")])
            try await PushTrial.run(configuration) { trial in
                let publisher = try RunningProgram(
                    BuiltProgram.path("RecordingPublisher"),
                    [
                        "--port", "\(broker.port)", "--topic", "push/log", "--count", "2000", "--log",
                        broker.folder.appendingPathComponent("acknowledged.txt").path, "--payload", #"{"n":{n}}"#,
                    ]
                )
                #expect(await publisher.status() == 0)
                let arrivals = await trial.arrivals(2_000)
                #expect(arrivals.allSatisfy { $0.origin === arrivals[0].origin })
                let numbers = try arrivals.map { try $0.action().body.decode([String: Int].self)["n"] }
                #expect(numbers == Array(1...2_000))
            }
        }
    }

    @Test func anInvalidActionLevelIsARejectedArrival() async throws {
        try await Broker.with { broker in
            try await PushTrial.run(try .test(broker, [try MQTTTopic("push/{action}")])) { trial in
                try await broker.publish("{}", to: "push/9 lives")
                try await broker.publish("{}", to: "push/signalbox.stop")
                let arrivals = await trial.arrivals(2)
                #expect(arrivals.map(\.rejection?.reason) == [.malformed, .malformed])
                #expect(arrivals[0].original == Bytes("{}"))
            }
        }
    }
}

@Suite struct PropertyLimitTests {
    /// Returns user properties as a PUBLISH has them (MQTT 5.0, 3.3.2.3.7).
    fileprivate static func bytes(_ userProperties: [(String, String)]) -> [UInt8] {
        var bytes: [UInt8] = []
        for (name, value) in userProperties {
            bytes.append(0x26)
            for text in [name, value] {
                let length = text.utf8.count
                bytes.append(UInt8(length >> 8))
                bytes.append(UInt8(length & 0xFF))
                bytes += Array(text.utf8)
            }
        }
        return bytes
    }

    /// Receives an empty message with these properties.
    fileprivate static func receive(
        _ receiver: PushReceiver,
        on topic: String,
        qos: Int32,
        isRetained: Bool = false,
        _ userProperties: [(String, String)]
    ) -> Bool {
        let nothing = UnsafeRawBufferPointer(start: nil, count: 0)
        return bytes(userProperties).withUnsafeBytes { properties in
            Array(topic.utf8).withUnsafeBytes { topic in
                var message = BrokerMessage(topic: topic, payload: nothing, isRetained: isRetained, qos: qos)
                message.properties = properties
                return receiver.received(message, token: 0)
            }
        }
    }

    @Test func droppedMessagesDoNotFillTheBatch() throws {
        var topic = try MQTTTopic("a/{action}")
        topic.retained = .ignore
        let receiver = PushReceiver(configuration: try .test(port: 1_883, [topic]))
        for number in 0..<100 {
            #expect(!Self.receive(receiver, on: "a/b\(number)", qos: 1, isRetained: true, []))
        }
        #expect((receiver.count, receiver.byteCount) == (0, 0))
    }

    @Test func propertiesAndNewTopicsCountTowardsTheBatchBytes() throws {
        let receiver = PushReceiver(configuration: try .test(port: 1_883, [try MQTTTopic("a/{action}")]))
        let empty = received(receiver, [])
        let again = received(receiver, [])
        #expect(empty > 0 && again == empty)
        let size = received(receiver, Array(repeating: ("name", "value"), count: 1_000)) - again
        #expect(size >= 64 * (9 + MemoryLayout<PushProperties.UserProperty>.stride) && size < 16_384)
        #expect(receiver.takeBatch().arrivals.count == 3 && receiver.byteCount == 0)
    }

    /// Receives an empty message on `a/x` and returns the size of the batch afterwards, in bytes.
    private func received(_ receiver: PushReceiver, _ userProperties: [(String, String)]) -> Int {
        #expect(Self.receive(receiver, on: "a/x", qos: 1, userProperties))
        return receiver.byteCount
    }
}

@Suite struct TraceTests {
    private static let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

    @Test func aTraceIsReadFromUserPropertiesOfItsName() throws {
        let facts = try facts([("traceparent", Self.parent), ("tracestate", "a=1"), ("other", "x")])
        #expect(facts.traceValue(forKey: "traceparent") == Self.parent)
        #expect(facts.traceValue(forKey: "tracestate") == "a=1")
        #expect(facts.traceValue(forKey: "baggage") == nil)
    }

    @Test func traceKeysAreCaseSensitive() throws {
        let facts = try facts([("Traceparent", Self.parent)])
        #expect(facts.traceValue(forKey: "traceparent") == nil)
    }

    @Test func aDuplicateTracePropertyIsIgnored() throws {
        let facts = try facts([("traceparent", Self.parent), ("traceparent", Self.parent)])
        #expect(facts.traceValue(forKey: "traceparent") == nil)
    }

    @Test func aMessageWithoutPropertiesHasNoTrace() throws {
        #expect(try facts([]).traceValue(forKey: "traceparent") == nil)
    }

    @Test func anOmittedPropertyHasNoTrace() throws {
        let many = (1...PushProperties.userPropertyLimit).map { ("n\($0)", "") } + [("traceparent", Self.parent)]
        #expect(try facts(many).traceValue(forKey: "traceparent") == nil)
    }

    /// Returns the facts of a message with these user properties.
    private func facts(_ userProperties: [(String, String)]) throws -> PushFacts {
        let receiver = PushReceiver(configuration: try .test(port: 1_883, [try MQTTTopic("a/{action}")]))
        #expect(PropertyLimitTests.receive(receiver, on: "a/x", qos: 0, userProperties))
        return try #require(receiver.takeBatch().arrivals.first?.origin.facts as? PushFacts)
    }
}
