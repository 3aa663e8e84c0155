import SignalboxCore
import Testing

@Suite struct TraceContextTests {
    private static let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    private static let other = "00-11111111111111111111111111111111-2222222222222222-00"

    private struct CarryingFacts: TraceCarrying {
        static let kind = "carrying"
        let values: [String: String]

        func traceValue(forKey key: String) -> String? { values[key] }
    }

    private static func arrival(_ text: String, _ envelope: Envelope, _ facts: any OriginFacts = TestFacts(note: ""))
        throws -> Arrival
    {
        var batch = ArrivalBatch(pool: ArrivalPool(), limits: MessageLimits())
        Array(text.utf8).withUnsafeBytes { bytes in
            let origin = Origin(source: "test", facts: facts)
            batch.append(bytes, token: 0, origin: origin, receivedAt: Reading.time, envelope: envelope)
        }
        return try #require(batch.take().first)
    }

    @Test(arguments: [
        ("", ""), (#","traceparent":null"#, ""), (#","traceparent":7"#, ""), (#","traceparent":"00-1-2-01""#, ""),
        (#","tracestate":"a=1""#, ""),
        (#","traceparent":"\#(parent)""#, parent), (#","traceparen\u0074":"\#(parent)""#, parent),
        (#","traceparent":"\#(parent)","tracestate":"a=1,b=2""#, "\(parent) a=1,b=2"),
        (#","traceparent":"\#(parent)","tracestate":7"#, parent),
        (#","traceparent":"\#(parent)","tracestate":"""#, parent),
        (#","traceparents":"\#(parent)""#, ""), (#","traceparant":"\#(parent)""#, ""),
    ])
    func anEnvelopeNamesItsTrace(_ members: String, _ expected: String) throws {
        let standard = try Self.arrival(#"{"action":"a","body":{"n":1}\#(members)}"#, .standard)
        #expect(standard.traceContext?.members.map(\.value).joined(separator: " ") ?? "" == expected)
        #expect(try standard.reading.get().body.jsonText == #"{"n":1}"#)
        #expect(try standard.reading.get().cloudEventAttributes == nil)
        guard !members.contains("7"), !members.contains(#""""#), !members.contains(#"\u"#) else { return }
        let event = #"{"specversion":"1.0","id":"1","source":"/s","type":"a"\#(members)}"#
        let read = try Self.arrival(event, .cloudEvents)
        #expect(read.traceContext?.members.map(\.value).joined(separator: " ") ?? "" == expected)
    }

    @Test func routesAndAppsMessagesHaveNoneOfTheirOwn() throws {
        let members = #"{"action":"a","aps":{},"traceparent":"\#(Self.parent)"}"#
        #expect(try Self.arrival(members, .route(RouteNaming(action: "a"))).traceContext == nil)
        #expect(try Self.arrival(members, .apns).traceContext == nil)
        #expect(try Self.arrival(members, .handler("b")).traceContext?.parent == Self.parent)
        #expect(try Self.arrival(members, .route(RouteNaming(action: nil))).traceContext?.parent == Self.parent)
    }

    @Test func theTransportComesFirst() throws {
        let text = #"{"action":"a","traceparent":"\#(Self.other)"}"#
        let facts = CarryingFacts(values: ["traceparent": Self.parent, "tracestate": "a=1"])
        let carried = try Self.arrival(text, .standard, facts).traceContext
        #expect(carried == TraceContext(parent: Self.parent, state: "a=1"))
        let malformed = CarryingFacts(values: ["traceparent": "00", "tracestate": "a=1"])
        #expect(
            try Self.arrival(text, .standard, malformed).traceContext == TraceContext(parent: Self.other, state: nil)
        )
    }

    @Test func tabsAreSpaces() {
        let context = TraceContext(parent: Self.parent, state: "a=1,\tb=2")
        #expect(context?.members.map(\.value) == [Self.parent, "a=1, b=2"])
    }

    @Test func anotherBodyKeepsTheTrace() throws {
        let arrival = try Self.arrival(#"{"action":"a","traceparent":"\#(Self.parent)"}"#, .standard)
        let once = try arrival.replacingBody(Bytes("[1]"), limits: MessageLimits())
        let twice = try once.replacingBody(Bytes("[2]"), limits: MessageLimits())
        #expect(twice.traceContext == TraceContext(parent: Self.parent, state: nil))
        #expect(try twice.reading.get().body.jsonText == "[2]")
    }
}
