import SignalboxCore
import Testing

@Suite struct APNsEnvelopeTests {
    @Test(
        arguments: [
            .reads(
                #"{"aps":{"alert":"Hi","badge":1},"action":"order","id":"7","number":42,"lines":[1]}"#,
                "order",
                id: "7",
                body: #"{"number":42,"lines":[1]}"#
            ),
            .reads(
                #"{"z":1,"action":"order","a":{"b":2},"uuid":"u","aps":{}}"#,
                "order",
                id: "u",
                body: #"{"z":1,"a":{"b":2}}"#
            ),
            .reads(#"{"aps":{"content-available":1},"action":"sync"}"#, "sync", body: "{}"),
            .reads(#"{"aps":{},"action":"sync","id":null,"uuid":null}"#, "sync", body: "{}"),
            .reads(#"{"aps":{},"action":"sync","body":{"a":1}}"#, "sync", body: #"{"body":{"a":1}}"#),
            .reads(
                #"{"\u0061ps":{},"acti\u006fn":"sync","\u0069d":"\u0037","n":1}"#,
                "sync",
                id: "7",
                body: #"{"n":1}"#
            ),
            .reads(#"{"aps":{"action":"x","id":7},"action":"sync"}"#, "sync", body: "{}"),
            .reads(#"{"aps":{},"action":"sync","Aps":1,"ACTION":"x"}"#, "sync", body: #"{"Aps":1,"ACTION":"x"}"#),
            .reads(#"{"aps":{},"action":"sync","é":"e\u0301"}"#, "sync", body: "{\"é\":\"e\u{301}\"}"),
            .reads(#"{"aps":{},"action":"sync","source":"chat"}"#, "sync", body: #"{"source":"chat"}"#),
        ] as [EnvelopeVector]
    )
    func customKeysAreTheBodyAndApsIsSeparate(_ vector: EnvelopeVector) throws {
        try vector.check(.apns, as: .apns)
    }

    @Test(
        arguments: [
            .refuses("", .unexpectedEnd), .refuses("[]", .typeMismatch), .refuses("{}", .missingMember, at: "aps"),
            .refuses(#"{"action":"sync"}"#, .missingMember, at: "aps"),
            .refuses(#"{"aps":null,"action":"sync"}"#, .typeMismatch, at: "aps"),
            .refuses(#"{"aps":"x","action":"sync"}"#, .typeMismatch, at: "aps"),
            .refuses(#"{"aps":[],"action":"sync"}"#, .typeMismatch, at: "aps"),
            .refuses(#"{"aps":{}}"#, .missingMember, at: "action"),
            .refuses(#"{"aps":{"action":"sync"}}"#, .missingMember, at: "action"),
            .refuses(#"{"aps":{},"action":7}"#, .typeMismatch, at: "action"),
            .refuses(#"{"aps":{},"action":"a b"}"#, .invalidValue, at: "action"),
            .refuses(#"{"aps":{},"action":"signalbox.stop"}"#, .invalidValue, at: "action"),
            .refuses(#"{"aps":{},"action":"a","id":7}"#, .typeMismatch, at: "id"),
            .refuses(#"{"aps":{},"action":"a","id":"1","uuid":"2"}"#, .invalidValue, at: "id"),
            .refuses(#"{"aps":{},"action":"a","uuid":""}"#, .invalidValue, at: "uuid"),
            .refuses(#"{"aps":{},"aps":{},"action":"a"}"#, .duplicateKey),
            .refuses(#"{"aps":{},"\u0061ps":{},"action":"a"}"#, .duplicateKey),
            .refuses(#"{"aps":{"alert":"\ud800"},"action":"a"}"#, .loneSurrogate),
        ] as [EnvelopeVector]
    )
    func aPayloadWithoutApsOrActionIsMalformed(_ vector: EnvelopeVector) throws {
        try vector.check(.apns, as: .apns)
    }

    private static func payload(bytes count: Int) -> [UInt8] {
        let head = #"{"aps":{},"action":"sync","x":""#
        return Array((head + String(repeating: "x", count: count - head.utf8.count - 2) + #""}"#).utf8)
    }

    @Test func aPayloadIsLimitedToTheAPNsMaximum() throws {
        let limit = Envelope.apnsLimit
        #expect(limit == 5_120)
        for route in [Envelope.apns, .route(RouteNaming(action: nil, id: ActionID("r")), payload: .apns)] {
            #expect(
                try Reading.arrival(Self.payload(bytes: limit), envelope: route, before: 9)?.reading.get().name
                    == "sync"
            )
            let over = Reading.arrival(Self.payload(bytes: limit + 1), envelope: route, before: 9)
            #expect(throws: Outcome.Rejection.self) { try over?.reading.get() }
            guard case .failure(let rejection) = over?.reading else { continue }
            #expect(rejection.bodyError?.code == .tooLarge)
        }
        let small = MessageLimits(bytes: 100, depth: 2)
        #expect(throws: Outcome.Rejection.self) {
            try Reading.arrival(Self.payload(bytes: 101), envelope: .apns, limits: small)?.reading.get()
        }
        let vector = EnvelopeVector.refuses(#"{"aps":{"a":[1]},"action":"a"}"#, .tooDeep)
        try vector.check(.apns, as: .apns, limits: small)
    }

    private struct Alert: Decodable, Sendable { let alert: String, badge: Int }
    private struct Order: Decodable, Sendable { let number: Int }

    @Test func aPluginCanReadApsAndTheOriginal() throws {
        let text = #"{"aps":{"alert":"Hi","badge":1},"action":"order","number":42}"#
        let action = try Reading.action(text, envelope: .apns)
        #expect(try action.body.decode(Order.self).number == 42)
        let aps = try Missing.unwrap(action.aps)
        #expect(try aps.decode(Alert.self).badge == 1)
        #expect(Reading.decodingError(aps, as: Order.self)?.path == "body.number")
        #expect(try action.body.decode(RawBody.self) == RawBody(bytes: Bytes(text), kind: .json))
        #expect(action.cloudEventAttributes == nil)
        #expect(try Reading.action(#"{"action":"a","aps":{}}"#).aps == nil)
    }

    @Test func aBodyErrorHasItsOffsetInThePayload() throws {
        let text = #"{"aps":{},"action":"order","number":"42"}"#
        let error = Reading.decodingError(try Reading.action(text, envelope: .apns).body, as: Order.self)
        #expect(error?.path == "body.number")
        #expect(error?.offset == 36)
        let action = try Reading.action(#"{"aps":{},"action":"order","number":1}"#, envelope: .apns)
        #expect(Reading.decodingError(action.body, as: Alert.self)?.code == .missingMember)
    }
}
