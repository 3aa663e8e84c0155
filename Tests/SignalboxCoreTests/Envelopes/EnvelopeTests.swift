import SignalboxCore
import Testing

@Suite struct EnvelopeTests {
    @Test func nameIDAndBodyAreRead() throws {
        let action = try Reading.action(#"{"x":{"id":1},"body":{"a":[1]},"id":"i-1","action":"payment"}"#)
        #expect(action.name == "payment")
        #expect(action.id.text == "i-1")
        #expect(action.idKey == .id)
        #expect(action.body.jsonText == #"{"a":[1]}"#)
        #expect(action.receivedAt == Reading.time)
        #expect(action.origin === Reading.origin)
    }

    @Test func escapesInNamesAndValuesAreResolved() throws {
        let action = try Reading.action(#"{"\u0061ction":"p\u0061y","\u0075uid":"\ud83d\ude00\n","b\u006fdy":1}"#)
        #expect(action.name == "pay")
        #expect(action.id.text == "\u{1F600}\n")
        #expect(action.idKey == .uuid)
        #expect(try action.body.decode(Int.self) == 1)
    }

    @Test func anAbsentIDIsAssignedAndAnAbsentBodyIsNull() throws {
        for text in [#"{"action":"a"}"#, #"{"action":"a","id":null,"uuid":null,"body":null}"#] {
            let action = try Reading.action(text)
            #expect(action.idKey == .assigned)
            #expect(!action.id.text.isEmpty)
            #expect(action.body.jsonText == "null")
        }
    }

    @Test(
        arguments: [
            ("{}", BodyError.Code.missingMember, "action"), (#"{"action":1}"#, .typeMismatch, "action"),
            (#"{"action":""}"#, .invalidValue, "action"), (#"{"action":"a b"}"#, .invalidValue, "action"),
            (#"{"action":"\u00e9"}"#, .invalidValue, "action"), (#"{"action":"signalbox.x"}"#, .invalidValue, "action"),
            (#"{"action":"signal\u0062ox.x"}"#, .invalidValue, "action"),
            (#"{"action":"a","id":""}"#, .invalidValue, "id"), (#"{"action":"a","id":7}"#, .typeMismatch, "id"),
            (#"{"action":"a","uuid":[]}"#, .typeMismatch, "uuid"),
            (#"{"action":"a","id":"1","uuid":"1"}"#, .invalidValue, "id"),
            ("[]", .typeMismatch, ""), ("", .unexpectedEnd, ""), (#"{"action":"a"}x"#, .invalidSyntax, ""),
            (#"{"action":"a","action":"b"}"#, .duplicateKey, ""),
        ])
    func aMessageWithoutAValidActionIsMalformed(_ text: String, code: BodyError.Code, path: String) throws {
        let arrival = try Missing.unwrap(Reading.arrival(Array(text.utf8), before: 3))
        guard case .failure(let rejection) = arrival.reading else {
            return #expect(Bool(false), "\(text) was accepted")
        }
        #expect(rejection.reason == .malformed)
        #expect(rejection.bodyError?.code == code)
        #expect(rejection.bodyError?.path == path)
        #expect(arrival.original.text == text)
    }

    @Test func namesAndIDsAreLimitedInBytes() throws {
        func message(name: Int, id: Int) -> Arrival? {
            let (name, id) = (String(repeating: "n", count: name), String(repeating: "i", count: id))
            return Reading.arrival(Array(#"{"action":"\#(name)","id":"\#(id)"}"#.utf8))
        }
        #expect(try message(name: 64, id: 128)?.reading.get().id.text.utf8.count == 128)
        #expect(throws: Outcome.Rejection.self) { try message(name: 65, id: 1)?.reading.get() }
        #expect(throws: Outcome.Rejection.self) { try message(name: 1, id: 129)?.reading.get() }
    }

    @Test func aRouteProvidesActionAndID() throws {
        let id = try Missing.unwrap(ActionID("from-topic"))
        let naming = RouteNaming(action: "loading", id: id)
        let action = try Reading.action("[1]", envelope: .route(naming))
        #expect(action.name == "loading")
        #expect(action.id == id)
        #expect(action.idKey == .id)
    }

    @Test func capturesOfARouteWithoutActionJoinTheBody() throws {
        let naming = RouteNaming(action: nil, captures: [RouteNaming.Capture(name: "device", value: "lamp")])
        let action = try Reading.action(
            #"{"action":"on","id":"7","body":{"device":"x","b":2}}"#,
            envelope: .route(naming)
        )
        #expect(action.name == "on")
        #expect(action.id.text == "7")
        #expect(action.body.jsonText == #"{"device":"lamp","b":2}"#)
    }

    @Test(
        arguments: [
            (#""Close""#, "page", #""Close""#), ("{\"isShow\":true}", "page", "{\"isShow\":true}"), ("7", "page", "7"),
            ("null", "page", "null"), ("", "page", "null"), (#"{"body":1}"#, "page", #"{"body":1}"#),
            (#"{"action":"pay","body":1}"#, "pay", "1"), (#"{"\u0061ction":"pay"}"#, "pay", "null"),
            (#"[{"action":"pay"}]"#, "page", #"[{"action":"pay"}]"#),
        ])
    func theHandlerNameIsTheDefaultAction(_ posted: String, name: String, body: String) throws {
        let action = try Reading.action(posted, envelope: .handler("page"))
        #expect(action.name.text == name)
        #expect(action.body.jsonText == body)
    }

    @Test(arguments: [(#"{"action":7}"#, "action"), (#"{"action":"pay","id":[]}"#, "id"), ("{", "")])
    func anInvalidPostedEnvelopeIsMalformed(_ posted: String, path: String) throws {
        let arrival = try Missing.unwrap(Reading.arrival(Array(posted.utf8), envelope: .handler("page"), before: 5))
        guard case .failure(let rejection) = arrival.reading else {
            return #expect(Bool(false), "\(posted) was accepted")
        }
        #expect(rejection.reason == .malformed)
        #expect(rejection.bodyError?.path == path)
    }

    @Test func anAddressIsNotParsedAsABody() throws {
        let id = try Missing.unwrap(ActionID("7"))
        let captures = [RouteNaming.Capture(name: "count", value: "3"), .init(name: "name", value: "lamp \u{1F600}")]
        let text = "myapp://product/3?x={"
        let action = try Reading.action(text, envelope: .address("open", id: id, captures: captures))
        #expect(action.name == "open")
        #expect(action.id == id)
        #expect(action.idKey == .id)
        #expect(action.body.jsonText == #"{"count":"3","name":"lamp \#u{1F600}"}"#)
        #expect(try action.body.decode([String: String].self)["count"] == "3")
        #expect(try action.body.decode(RawBody.self) == RawBody(bytes: Bytes(""), kind: .json))
    }

    @Test func aCaptureIsAListOfAsFewAsOneText() throws {
        let captures = [
            RouteNaming.Capture(name: "a", value: "1", isList: true), .init(name: "b", value: "2", isList: false),
            .init(name: "c", value: "3", moreValues: ["4"], isList: false),
        ]
        let envelope = Envelope.address("open", id: nil, captures: captures)
        let body = try Reading.action("", envelope: envelope).body
        #expect(body.jsonText == #"{"a":["1"],"b":"2","c":["3","4"]}"#)
        #expect(Reading.decodingError(body, as: [String: Int].self)?.code == .typeMismatch)
    }

    @Test func anAddressWithoutCapturesHasAnEmptyObjectBody() throws {
        let envelope = Envelope.address("open", id: nil, captures: [])
        let arrival = try Missing.unwrap(Reading.arrival(Array("not { json".utf8), envelope: envelope, before: 9))
        #expect(arrival.original.text == "not { json")
        let action = try arrival.reading.get()
        #expect(action.idKey == .assigned)
        #expect(action.body.jsonText == "{}")
        #expect(try action.body.decode(RawBody.self) == RawBody(bytes: Bytes(""), kind: .json))
        #expect(try action.body.decode(Optionals.self) == Optionals(count: nil, name: nil))
        #expect(try action.body.decode([String: Int].self).isEmpty)
    }

    private struct Optionals: Decodable, Equatable, Sendable {
        let count: Int?
        let name: String?
    }
}

@Suite struct StandardEnvelopeTests {
    @Test(
        arguments: [
            .reads(#"{"action":"pay","id":"7","body":{"a":1}}"#, "pay", id: "7", body: #"{"a":1}"#),
            .reads(#"{"body":[1,2],"uuid":"u","action":"pay"}"#, "pay", id: "u", body: "[1,2]"),
            .reads(#" {"action" : "a.b-c_9"} "#, "a.b-c_9", body: "null"),
            .reads(#"{"action":"a","id":null,"uuid":"u"}"#, "a", id: "u", body: "null"),
            .reads(#"{"action":"a","aps":{},"type":"b","data":1}"#, "a", body: "null"),
            .reads(#"{"action":"a","source":"another source"}"#, "a", body: "null"),
            .refuses("", .unexpectedEnd), .refuses("null", .typeMismatch),
            .refuses(#"[{"action":"a"}]"#, .typeMismatch),
            .refuses(#"{"Action":"a"}"#, .missingMember, at: "action"),
            .refuses(#"{"action":null}"#, .typeMismatch, at: "action"),
            .refuses(#"{"action":"a/b"}"#, .invalidValue, at: "action"),
            .refuses(#"{"action":"a","id":"x","uuid":"x"}"#, .invalidValue, at: "id"),
            .refuses(#"{"action":"a","\u0061ction":"b"}"#, .duplicateKey),
            .refuses(#"{"action":"a","body":{"x":1,"x":1}}"#, .duplicateKey),
            .refuses(#"{"action":"a"#, .unexpectedEnd),
        ] as [EnvelopeVector]
    )
    func aStandardEnvelopeIsAnObjectWithAnAction(_ vector: EnvelopeVector) throws {
        try vector.check(.standard, as: .standard)
    }

    @Test func anArrivalRejectedByTheAdapterHasNoEnvelope() {
        var batch = ArrivalBatch(pool: ArrivalPool())
        Array("x".utf8).withUnsafeBytes { bytes in
            batch.append(
                rejected: Outcome.Rejection(.malformed, detail: "a test"),
                original: bytes,
                token: 0,
                origin: Reading.origin,
                receivedAt: Reading.time
            )
        }
        #expect(batch.take().map(\.envelope) == [.none])
    }

    @Test func unreadableItemsBelongToTheMessageAppendedLast() {
        var batch = ArrivalBatch(pool: ArrivalPool())
        func append() {
            Array(#"{"action":"a"}"#.utf8).withUnsafeBytes { bytes in
                batch.append(bytes, token: 0, origin: Reading.origin, receivedAt: Reading.time)
            }
        }
        append()
        append()
        batch.setUnreadableItems(3)
        append()
        batch.setUnreadableItems(70_000)
        append()
        #expect(batch.take().map(\.unreadableItems) == [0, 3, 65_535, 0])
    }

    @Test func envelopeKindsHaveTheirDocumentedNames() {
        let kinds: [EnvelopeKind] = [.standard, .handler, .route, .address, .apns, .cloudEvents, .none]
        let words = ["standard", "handler", "route", "address", "apns", "cloudEvents", "none"]
        #expect(kinds.map(\.description) == words)
        let payloads: [PayloadEnvelope] = [.standard, .apns, .cloudEvents]
        #expect(payloads.map(\.description) == payloads.map(\.kind.description))
    }

    @Test func anArrivalRecordHasAStrideOf72Bytes() {
        #expect(MemoryLayout<ArrivalRecord>.stride == 72)
    }
}

@Suite struct HandlerEnvelopeTests {
    @Test(
        arguments: [
            .reads(#""Close""#, "page", body: #""Close""#), .reads("7", "page", body: "7"),
            .reads("", "page", body: "null"), .reads("null", "page", body: "null"),
            .reads(#"{"isShow":true}"#, "page", body: #"{"isShow":true}"#),
            .reads(#"{"id":"7"}"#, "page", body: #"{"id":"7"}"#),
            .reads(#"{"type":"x","aps":{}}"#, "page", body: #"{"type":"x","aps":{}}"#),
            .reads(#"[{"action":"pay"}]"#, "page", body: #"[{"action":"pay"}]"#),
            .refuses("{", .unexpectedEnd), .refuses(#"{"a":1,"a":2}"#, .duplicateKey),
            .refuses("undefined", .invalidSyntax),
        ] as [EnvelopeVector]
    )
    func aPostedValueIsTheBodyOfItsHandlersAction(_ vector: EnvelopeVector) throws {
        try vector.check(.handler("page"), as: .handler)
    }

    @Test(
        arguments: [
            .reads(#"{"action":"pay","id":"7","body":1}"#, "pay", id: "7", body: "1"),
            .reads(#"{"\u0061ction":"pay"}"#, "pay", body: "null"),
            .refuses(#"{"action":7}"#, .typeMismatch, at: "action"),
            .refuses(#"{"action":""}"#, .invalidValue, at: "action"),
            .refuses(#"{"action":"signalbox.stop"}"#, .invalidValue, at: "action"),
            .refuses(#"{"action":"pay","id":[]}"#, .typeMismatch, at: "id"),
        ] as [EnvelopeVector]
    )
    func aPostedObjectWithAnActionIsAStandardEnvelope(_ vector: EnvelopeVector) throws {
        try vector.check(.handler("page"), as: .standard)
    }
}

/// A message, and the expected result of reading it with an envelope.
struct EnvelopeVector: Sendable, CustomTestStringConvertible {
    enum Expectation: Sendable {
        /// - Parameter id: The sender's id, or `nil` if one is assigned.
        case action(String, id: String?, body: String, kind: PayloadKind)
        case malformed(BodyError.Code, at: String)
    }

    let message: String
    let expectation: Expectation

    static func reads(
        _ message: String,
        _ name: String,
        id: String? = nil,
        body: String,
        kind: PayloadKind = .json
    ) -> EnvelopeVector {
        EnvelopeVector(message: message, expectation: .action(name, id: id, body: body, kind: kind))
    }

    static func refuses(_ message: String, _ code: BodyError.Code, at path: String = "") -> EnvelopeVector {
        EnvelopeVector(message: message, expectation: .malformed(code, at: path))
    }

    var testDescription: String { String(message.prefix(100)) }

    /// - Parameter kind: The expected envelope of the arrival.
    func check(
        _ envelope: Envelope,
        as kind: EnvelopeKind,
        payload: PayloadKind = .json,
        limits: MessageLimits = MessageLimits()
    ) throws {
        let bytes = Array(message.utf8)
        let found = Reading.arrival(bytes, envelope: envelope, payload: payload, limits: limits, before: 3)
        let arrival = try Missing.unwrap(found)
        #expect(arrival.original.text == message)
        #expect(arrival.origin === Reading.origin)
        #expect(arrival.envelope == kind)
        switch (expectation, arrival.reading) {
        case (.action(let name, let id, let body, let payload), .success(let action)):
            #expect(action.name.text == name)
            #expect((action.idKey == .assigned ? nil : action.id.text) == id)
            #expect(action.body.jsonText == body)
            #expect(try action.body.decode(RawBody.self).kind == payload)
        case (.malformed(let code, let path), .failure(let rejection)):
            #expect(rejection.reason == .malformed)
            #expect(rejection.bodyError?.code == code)
            #expect(rejection.bodyError?.path == path)
            #expect((0...bytes.count).contains(rejection.bodyError?.offset ?? 0))
        default:
            Issue.record("expected \(expectation), found \(arrival.reading)")
        }
    }
}
