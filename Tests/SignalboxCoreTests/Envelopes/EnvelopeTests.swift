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

    @Test func anAbsentOrNullIDIsAssignedAndAnAbsentBodyIsNull() throws {
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
    func whatIsNoActionIsMalformed(_ text: String, code: BodyError.Code, path: String) throws {
        let arrival = try Missing.unwrap(Reading.arrival(Array(text.utf8), before: 3))
        guard case .failure(let rejection) = arrival.reading else { return #expect(Bool(false), "\(text) was read") }
        #expect(rejection.reason == .malformed)
        #expect(rejection.bodyError?.code == code)
        #expect(rejection.bodyError?.path == path)
        #expect(arrival.original.text == text)
    }

    @Test func namesAndIDsAreBoundedToTheByte() throws {
        func message(name: Int, id: Int) -> Arrival? {
            let (name, id) = (String(repeating: "n", count: name), String(repeating: "i", count: id))
            return Reading.arrival(Array(#"{"action":"\#(name)","id":"\#(id)"}"#.utf8))
        }
        #expect(try message(name: 64, id: 128)?.reading.get().id.text.utf8.count == 128)
        #expect(throws: Outcome.Rejection.self) { try message(name: 65, id: 1)?.reading.get() }
        #expect(throws: Outcome.Rejection.self) { try message(name: 1, id: 129)?.reading.get() }
    }

    @Test func aRouteNamesActionAndID() throws {
        let id = try Missing.unwrap(ActionID("from-topic"))
        let naming = RouteNaming(action: "loading", id: id)
        let action = try Reading.action("[1]", envelope: .route(naming))
        #expect(action.name == "loading")
        #expect(action.id == id)
        #expect(action.idKey == .id)
    }

    @Test func aRouteWithoutActionReadsAnEnvelopeAndItsCapturesJoinTheBody() throws {
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
    func aHandlersNameIsTheActionUnlessTheValueNamesOne(_ posted: String, name: String, body: String) throws {
        let action = try Reading.action(posted, envelope: .handler("page"))
        #expect(action.name.text == name)
        #expect(action.body.jsonText == body)
    }

    @Test(arguments: [(#"{"action":7}"#, "action"), (#"{"action":"pay","id":[]}"#, "id"), ("{", "")])
    func aValueThatNamesAnActionBadlyIsMalformed(_ posted: String, path: String) throws {
        let arrival = try Missing.unwrap(Reading.arrival(Array(posted.utf8), envelope: .handler("page"), before: 5))
        guard case .failure(let rejection) = arrival.reading else { return #expect(Bool(false), "\(posted) was read") }
        #expect(rejection.reason == .malformed)
        #expect(rejection.bodyError?.path == path)
    }

    @Test func anAddressIsTheOriginalAndNoBodyIsReadFromIt() throws {
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

    @Test func anAddressWithoutCapturesIsAnObjectWithoutMembersAndKeepsItsBytes() throws {
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
