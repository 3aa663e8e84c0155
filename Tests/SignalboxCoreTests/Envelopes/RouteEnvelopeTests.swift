import SignalboxCore
import Testing

@Suite struct RouteEnvelopeTests {
    private static let captures = [RouteNaming.Capture(name: "device", value: "lamp")]
    private static let named = RouteNaming(action: "on", captures: captures)
    private static let unnamed = RouteNaming(action: nil, id: ActionID("r"), captures: captures)

    @Test(
        arguments: [
            .reads("", "on", body: #"{"device":"lamp"}"#),
            .reads(#"{"device":"x","b":2}"#, "on", body: #"{"device":"lamp","b":2}"#),
            .reads(#"{"action":"pay","id":"7"}"#, "on", body: #"{"device":"lamp","action":"pay","id":"7"}"#),
            .reads("21.5", "on", body: "21.5"), .reads("[1]", "on", body: "[1]"),
            .refuses("ON", .invalidSyntax), .refuses(#"{"device""#, .unexpectedEnd),
        ] as [EnvelopeVector]
    )
    func aRouteWithAnActionTakesThePayloadAsTheBody(_ vector: EnvelopeVector) throws {
        try vector.check(.route(Self.named), as: .route)
    }

    @Test(
        arguments: [
            (.text, .reads("ON", "on", body: #""ON""#, kind: .text)),
            (.text, .reads("", "on", body: #"{"device":"lamp"}"#)),
            (.bytes, .reads("ON", "on", body: #""T04=""#, kind: .bytes)),
        ] as [(PayloadKind, EnvelopeVector)]
    )
    func aRouteMayDeclareNonJSONPayloads(_ payload: PayloadKind, _ vector: EnvelopeVector) throws {
        try vector.check(.route(Self.named), as: .route, payload: payload)
    }

    @Test(
        arguments: [
            .reads(
                #"{"action":"pay","id":"7","body":{"device":1,"b":2}}"#,
                "pay",
                id: "r",
                body: #"{"device":"lamp","b":2}"#
            ),
            .reads(#"{"action":"pay"}"#, "pay", id: "r", body: #"{"device":"lamp"}"#),
            .refuses(#"{"device":"x"}"#, .missingMember, at: "action"), .refuses("", .unexpectedEnd),
        ] as [EnvelopeVector]
    )
    func aRouteWithoutAnActionAddsToAStandardEnvelope(_ vector: EnvelopeVector) throws {
        try vector.check(.route(Self.unnamed), as: .standard)
    }

    @Test(
        arguments: [
            .reads(
                #"{"aps":{"badge":1},"action":"pay","id":"7","device":"x","n":2}"#,
                "pay",
                id: "r",
                body: #"{"device":"lamp","n":2}"#
            ),
            .reads(#"{"aps":{},"action":"pay"}"#, "pay", id: "r", body: #"{"device":"lamp"}"#),
            .refuses(#"{"action":"pay"}"#, .missingMember, at: "aps"),
        ] as [EnvelopeVector]
    )
    func aRouteAddsToAnAPNsPayload(_ vector: EnvelopeVector) throws {
        try vector.check(.route(Self.unnamed, payload: .apns), as: .apns)
    }

    @Test func aCaptureWithTheNameOfAHiddenMemberIsCountedOnce() throws {
        let naming = RouteNaming(action: nil, captures: [RouteNaming.Capture(name: "aps", value: "a")])
        let envelope = Envelope.route(naming, payload: .apns)
        let action = try Reading.action(#"{"aps":{"badge":1},"action":"pay","n":2}"#, envelope: envelope)
        #expect(action.body.jsonText == #"{"aps":"a","n":2}"#)
        #expect(action.aps?.jsonText == #"{"badge":1}"#)
        let members = try action.body.decode(MemberCount.self)
        #expect(members.count == 2)
    }

    /// The number of members that `KeyedDecodingContainer` reports.
    private struct MemberCount: Decodable, Sendable {
        let count: Int

        private struct Key: CodingKey {
            let stringValue: String
            var intValue: Int? { nil }
            init(stringValue: String) { self.stringValue = stringValue }
            init?(intValue: Int) { nil }
        }

        init(from decoder: any Decoder) throws {
            count = try decoder.container(keyedBy: Key.self).allKeys.count
        }
    }

    @Test(
        arguments: [
            .reads(
                #"{"specversion":"1.0","id":"7","source":"/s","type":"pay","data":{"device":1,"b":2}}"#,
                "pay",
                id: "r",
                body: #"{"device":"lamp","b":2}"#
            ),
            .reads(
                #"{"specversion":"1.0","id":"7","source":"/s","type":"pay"}"#,
                "pay",
                id: "r",
                body: #"{"device":"lamp"}"#
            ),
            .reads(
                #"{"specversion":"1.0","id":"7","source":"/s","type":"pay","data_base64":"AQI="}"#,
                "pay",
                id: "r",
                body: #""AQI=""#,
                kind: .bytes
            ),
        ] as [EnvelopeVector]
    )
    func aRouteAddsToACloudEvent(_ vector: EnvelopeVector) throws {
        try vector.check(.route(Self.unnamed, payload: .cloudEvents), as: .cloudEvents)
    }

    @Test func anAddressHasTheEnvelopeKindAddress() throws {
        let envelope = Envelope.address("open", id: nil, captures: Self.captures)
        let vector = EnvelopeVector.reads("myapp://lamp", "open", body: #"{"device":"lamp"}"#)
        try vector.check(envelope, as: .address)
    }
}
