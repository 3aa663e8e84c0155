import SignalboxCore
import Testing

@Suite struct CloudEventTests {
    @Test(arguments: CloudEventVectors.data + CloudEventVectors.base64)
    func dataIsTheBodyAsItsContentTypeSays(_ vector: EnvelopeVector) throws {
        try vector.check(.cloudEvents, as: .cloudEvents)
    }

    @Test(arguments: CloudEventVectors.required)
    func anEventHasVersionIDSourceAndType(_ vector: EnvelopeVector) throws {
        try vector.check(.cloudEvents, as: .cloudEvents)
    }

    @Test(arguments: CloudEventVectors.attributes + CloudEventVectors.times)
    func attributesHaveTheNamesAndValuesOfTheSpecification(_ vector: EnvelopeVector) throws {
        try vector.check(.cloudEvents, as: .cloudEvents)
    }

    @Test func namesAndIDsAreBoundedToTheByte() throws {
        func event(type: Int, id: Int) -> Result<Action, Outcome.Rejection>? {
            let (type, id) = (String(repeating: "t", count: type), String(repeating: "i", count: id))
            let text = #"{"specversion":"1.0","id":"\#(id)","source":"/s","type":"\#(type)"}"#
            return Reading.arrival(Array(text.utf8), envelope: .cloudEvents)?.reading
        }
        #expect(try event(type: 64, id: 128)?.get().id.text.utf8.count == 128)
        #expect(throws: Outcome.Rejection.self) { try event(type: 65, id: 1)?.get() }
        #expect(throws: Outcome.Rejection.self) { try event(type: 1, id: 129)?.get() }
    }

    @Test func anEventIsBoundedByTheLimitsOfMessages() throws {
        let head = #"{"specversion":"1.0","id":"7","source":"/s","type":"t","data":""#
        func reading(bytes: Int) -> Result<Action, Outcome.Rejection>? {
            let text = head + String(repeating: "x", count: bytes - head.utf8.count - 2) + #""}"#
            return Reading.arrival(Array(text.utf8), envelope: .cloudEvents, before: 1)?.reading
        }
        #expect(try reading(bytes: 65_536)?.get().name == "t")
        guard case .failure(let rejection)? = reading(bytes: 65_537) else { return #expect(Bool(false), "it was read") }
        #expect(rejection.bodyError?.code == .tooLarge)
    }

    private struct Attributes: Decodable, Sendable, Equatable {
        let source, type, subject: String
        let number: Int
        let data: String?
    }

    private static let event = """
        {"specversion":"1.0","id":"7","source":"signalbox://chat","type":"a","subject":"s","number":5,
        "datacontenttype":"text/plain","data":"hello"}
        """

    @Test func attributesAreKeptApartFromTheBody() throws {
        let action = try Reading.action(Self.event, envelope: .cloudEvents)
        let attributes = try Missing.unwrap(action.cloudEventAttributes)
        let expected = Attributes(source: "signalbox://chat", type: "a", subject: "s", number: 5, data: nil)
        #expect(try attributes.decode(Attributes.self) == expected)
        #expect(attributes.jsonText.contains("hello") == false)
        #expect(try action.body.decode(String.self) == "hello")
        #expect(action.aps == nil)
        #expect(try Reading.action(#"{"action":"a"}"#).cloudEventAttributes == nil)
    }

    @Test(arguments: ["source", "origin", "facts", "token", "receivedat"])
    func whatAnEventSaysOfItsOriginIsNeverTheOrigin(_ member: String) throws {
        let extra = member == "source" ? "" : #","\#(member)":"chat""#
        let text = #"{"specversion":"1.0","id":"7","source":"chat","type":"a"\#(extra)}"#
        let arrival = try Missing.unwrap(Reading.arrival(Array(text.utf8), envelope: .cloudEvents))
        let action = try arrival.reading.get()
        for origin in [arrival.origin, action.origin] {
            #expect(origin === Reading.origin)
            #expect(origin.source == "test")
        }
        #expect(arrival.token == 0 && arrival.receivedAt == Reading.time)
        #expect(!AccessRule.source("chat").allows(action.origin))
    }

    @Test func itsSourceIsAsTextAndNoOtherEnvelopeHasOne() throws {
        func source(_ text: String, _ envelope: Envelope) throws -> String? {
            try Missing.unwrap(Reading.arrival(Array(text.utf8), envelope: envelope, before: 3)).eventSource
        }
        let head = #"{"specversion":"1.0","id":"7","type":"a","data":{"source":"no"}"#
        #expect(try source(head + #","source":"/s"}"#, .cloudEvents) == "/s")
        #expect(try source(head + #","sourc\u0065":"\/\u0073é"}"#, .cloudEvents) == "/sé")
        #expect(try source(#"{"action":"a","source":"/s"}"#, .standard) == nil)
        #expect(try source(#"{"aps":{},"action":"a","source":"/s"}"#, .apns) == nil)
    }

    @Test func bytesAndTextDecodeAsTheTypesOfPayloads() throws {
        let head = #"{"specversion":"1.0","id":"7","source":"/s","type":"a","#
        let bytes = try Reading.action(head + #""data_base64":"AAEC/w=="}"#, envelope: .cloudEvents)
        #expect(try Array(bytes.body.decode(Bytes.self)) == [0, 1, 2, 255])
        #expect(try bytes.body.decode(RawBody.self) == RawBody(bytes: Bytes([0, 1, 2, 255]), kind: .bytes))
        let text = try Reading.action(head + #""datacontenttype":"text/x","data":"\n7"}"#, envelope: .cloudEvents)
        #expect(try text.body.decode(RawBody.self) == RawBody(bytes: Bytes("\n7"), kind: .text))
        #expect(Reading.decodingError(text.body, as: Int.self)?.code == .typeMismatch)
    }
}
