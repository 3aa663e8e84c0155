import BrokerKit
import Foundation
import MQTTPush
import SignalboxCore
import SignalboxRoutes
import Testing

@Suite(.timeLimit(.minutes(10)))
struct ReceivingTests {
    private struct Loading: Decodable, Equatable {
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
                #expect(try action.body.decode(Loading.self) == Loading(device: "kiosk-1", text: "hello"))
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

    @Test func withoutAnActionInTheTopicThePayloadIsAnEnvelope() async throws {
        try await Broker.with { broker in
            try await PushTrial.run(try .test(broker, [try MQTTTopic("push/{device}")])) { trial in
                let envelope = #"{"action": "loading", "id": "a", "body": {"text": "hello"}}"#
                try await broker.publish(envelope, to: "push/kiosk-1")
                let action = try await trial.arrivals(1)[0].action()
                #expect(action.name == "loading" && action.id.text == "a")
                #expect(try action.body.decode(Loading.self) == Loading(device: "kiosk-1", text: "hello"))
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
                let said = try #require(arrivals[0].pushFacts?.properties)
                #expect(said.contentType == "application/json" && said.responseTopic == "answers/1")
                #expect(said.correlationData == Array("c-1".utf8))
                #expect(said.userProperties.map { "\($0.name)=\($0.value)" } == ["a=1", "a=2"])
                let expiry = try #require(said.messageExpiry)
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
                    BuiltProgram.path("LedgerPublisher"),
                    [
                        "--port", "\(broker.port)", "--topic", "push/log", "--count", "2000", "--ledger",
                        broker.folder.appendingPathComponent("ledger.txt").path, "--payload", #"{"n":{n}}"#,
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

    @Test func aTopicLevelThatIsNoActionNameIsARejectedArrival() async throws {
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
