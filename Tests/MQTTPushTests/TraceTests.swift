import CMosquitto
import SignalboxCore
import Testing

@testable import MQTTPush

@Suite struct TraceTests {
    private static let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

    @Test func aTraceIsReadFromUserPropertiesOfItsName() throws {
        let facts = try facts([("traceparent", Self.parent), ("tracestate", "a=1"), ("other", "x")])
        #expect(facts.traceValue(forKey: "traceparent") == Self.parent)
        #expect(facts.traceValue(forKey: "tracestate") == "a=1")
        #expect(facts.traceValue(forKey: "baggage") == nil)
    }

    @Test func aNameInOtherLettersIsAnotherName() throws {
        let facts = try facts([("Traceparent", Self.parent)])
        #expect(facts.traceValue(forKey: "traceparent") == nil)
    }

    @Test func twoOfTheSameNameAreNone() throws {
        let facts = try facts([("traceparent", Self.parent), ("traceparent", Self.parent)])
        #expect(facts.traceValue(forKey: "traceparent") == nil)
    }

    @Test func aMessageWithoutPropertiesHasNoTrace() throws {
        #expect(try facts([]).traceValue(forKey: "traceparent") == nil)
    }

    @Test func whatTheLimitsLeftOutIsNotThere() throws {
        let many = (1...PushProperties.userPropertyLimit).map { ("n\($0)", "") } + [("traceparent", Self.parent)]
        #expect(try facts(many).traceValue(forKey: "traceparent") == nil)
    }

    /// The facts of a message with these user properties.
    private func facts(_ said: [(String, String)]) throws -> PushFacts {
        let receiver = PushReceiver(configuration: try .test(port: 1_883, [try MQTTTopic("a/{action}")]))
        var list: OpaquePointer?
        defer { mosquitto_property_free_all(&list) }
        for (name, value) in said {
            mosquitto_property_add_string_pair(&list, Int32(MQTT_PROP_USER_PROPERTY.rawValue), name, value)
        }
        var topic = Array("a/x".utf8CString)
        topic.withUnsafeMutableBufferPointer { topic in
            var message = mosquitto_message()
            message.topic = topic.baseAddress
            receiver.received(&message, properties: list)
        }
        return try #require(receiver.takeBatch().first?.origin.facts as? PushFacts)
    }
}
