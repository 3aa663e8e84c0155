import SignalboxCore
import Testing

@Suite struct CloudEventTests {
    @Test(arguments: CloudEventVectors.data + CloudEventVectors.base64)
    func dataIsReadAccordingToItsContentType(_ vector: EnvelopeVector) throws {
        try vector.check(.cloudEvents, as: .cloudEvents)
    }

    @Test(arguments: CloudEventVectors.required)
    func anEventRequiresVersionIDSourceAndType(_ vector: EnvelopeVector) throws {
        try vector.check(.cloudEvents, as: .cloudEvents)
    }

    @Test(arguments: CloudEventVectors.attributes + CloudEventVectors.times)
    func attributesFollowTheSpecification(_ vector: EnvelopeVector) throws {
        try vector.check(.cloudEvents, as: .cloudEvents)
    }

    @Test func namesAndIDsAreLimitedInBytes() throws {
        func event(type: Int, id: Int) -> Result<Action, Outcome.Rejection>? {
            let (type, id) = (String(repeating: "t", count: type), String(repeating: "i", count: id))
            let text = #"{"specversion":"1.0","id":"\#(id)","source":"/s","type":"\#(type)"}"#
            return Reading.arrival(Array(text.utf8), envelope: .cloudEvents)?.reading
        }
        #expect(try event(type: 64, id: 128)?.get().id.text.utf8.count == 128)
        #expect(throws: Outcome.Rejection.self) { try event(type: 65, id: 1)?.get() }
        #expect(throws: Outcome.Rejection.self) { try event(type: 1, id: 129)?.get() }
    }

    @Test func messageLimitsApplyToEvents() throws {
        let head = #"{"specversion":"1.0","id":"7","source":"/s","type":"t","data":""#
        func reading(bytes: Int) -> Result<Action, Outcome.Rejection>? {
            let text = head + String(repeating: "x", count: bytes - head.utf8.count - 2) + #""}"#
            return Reading.arrival(Array(text.utf8), envelope: .cloudEvents, before: 1)?.reading
        }
        #expect(try reading(bytes: 65_536)?.get().name == "t")
        guard case .failure(let rejection)? = reading(bytes: 65_537) else {
            return #expect(Bool(false), "the event was accepted")
        }
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

    @Test func attributesAreSeparateFromTheBody() throws {
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
    func theSourceAttributeOfAnEventIsNeverTheOrigin(_ member: String) throws {
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

    @Test func onlyCloudEventsHaveAnEventSource() throws {
        func source(_ text: String, _ envelope: Envelope) throws -> String? {
            try Missing.unwrap(Reading.arrival(Array(text.utf8), envelope: envelope, before: 3)).eventSource
        }
        let head = #"{"specversion":"1.0","id":"7","type":"a","data":{"source":"no"}"#
        #expect(try source(head + #","source":"/s"}"#, .cloudEvents) == "/s")
        #expect(try source(head + #","sourc\u0065":"\/\u0073é"}"#, .cloudEvents) == "/sé")
        #expect(try source(#"{"action":"a","source":"/s"}"#, .standard) == nil)
        #expect(try source(#"{"aps":{},"action":"a","source":"/s"}"#, .apns) == nil)
    }

    @Test func bytesAndTextDecodeAsTheirPayloadKind() throws {
        let head = #"{"specversion":"1.0","id":"7","source":"/s","type":"a","#
        let bytes = try Reading.action(head + #""data_base64":"AAEC/w=="}"#, envelope: .cloudEvents)
        #expect(try Array(bytes.body.decode(Bytes.self)) == [0, 1, 2, 255])
        #expect(try bytes.body.decode(RawBody.self) == RawBody(bytes: Bytes([0, 1, 2, 255]), kind: .bytes))
        let text = try Reading.action(head + #""datacontenttype":"text/x","data":"\n7"}"#, envelope: .cloudEvents)
        #expect(try text.body.decode(RawBody.self) == RawBody(bytes: Bytes("\n7"), kind: .text))
        #expect(Reading.decodingError(text.body, as: Int.self)?.code == .typeMismatch)
    }
}

/// Events written from the JSON event format of CloudEvents 1.0.2 and from its core specification.
enum CloudEventVectors {
    private static func event(_ members: String) -> String {
        #"{"specversion":"1.0","id":"7","source":"/mycontext","type":"com.example.someevent""#
            + (members.isEmpty ? "" : ",") + members + "}"
    }

    private static func reads(
        _ members: String,
        body: String,
        kind: PayloadKind = .json
    ) -> EnvelopeVector {
        .reads(event(members), "com.example.someevent", id: "7", body: body, kind: kind)
    }

    private static func refuses(_ members: String, _ code: BodyError.Code, at path: String = "") -> EnvelopeVector {
        .refuses(event(members), code, at: path)
    }

    /// JSON event format, section 3.1.
    static let data: [EnvelopeVector] = [
        reads("", body: "null"), reads(#""data":null"#, body: "null"),
        reads(#""data":{"appinfoA":"abc","appinfoB":123}"#, body: #"{"appinfoA":"abc","appinfoB":123}"#),
        reads(#""data":"I'm just a string""#, body: #""I'm just a string""#),
        reads(#""data":"{\"not\":\"read again\"}""#, body: #""{\"not\":\"read again\"}""#),
        reads(#""datacontenttype":"application/json","data":[1]"#, body: "[1]"),
        reads(#""datacontenttype":"application/vnd.x+json;charset=utf-8","data":7"#, body: "7"),
        reads(#""datacontenttype":"Text/JSON ; q=1","data":"x""#, body: #""x""#),
        reads(#""datacontenttype":null,"data":{"a":1}"#, body: #"{"a":1}"#),
        reads(
            #""datacontenttype":"application/xml","data":"<much wow=\"xml\"/>""#,
            body: #""<much wow=\"xml\"/>""#,
            kind: .text
        ),
        reads(
            #""datacontenttype":"text/plain","data":"e\u0301 \ud83d\ude00""#,
            body: "\"e\u{301} \u{1F600}\"",
            kind: .text
        ),
        reads(#""datacontenttype":"text/plain","data":"""#, body: #""""#, kind: .text),
        reads(#""datacontenttype":"text/plain","data":null"#, body: "null"),
        reads(#""datacontenttype":"text/plain""#, body: "null"),
        reads(
            #""datacontenttype":"application/vnd.apache.thrift.binary","data_base64":"AAECAw==""#,
            body: #""AAECAw==""#,
            kind: .bytes
        ),
        reads(#""datacontenttype":"application/json","data_base64":"e30=""#, body: #""e30=""#, kind: .bytes),
        reads(#""data_base64":"""#, body: #""""#, kind: .bytes),
        reads(#""data_base64":"\u0041AAA""#, body: #""AAAA""#, kind: .bytes),
        reads(#""data_base64":null,"data":1"#, body: "1"),
        refuses(#""data":1,"data_base64":"AA==""#, .invalidValue, at: "data_base64"),
        refuses(#""data":null,"data_base64":"AA==""#, .invalidValue, at: "data_base64"),
        refuses(#""data_base64":7"#, .typeMismatch, at: "data_base64"),
        refuses(#""datacontenttype":"text/plain","data":{"a":1}"#, .typeMismatch, at: "data"),
        refuses(#""datacontenttype":"text/plain","data":7"#, .typeMismatch, at: "data"),
        refuses(#""data":1,"data":2"#, .duplicateKey),
    ]

    /// RFC 4648 section 4, in canonical form only.
    static let base64: [EnvelopeVector] =
        ["/+8=", "AQ==", "AQI=", "AQID", "Zm9vYmFy"].map {
            reads(#""data_base64":"\#($0)""#, body: #""\#($0)""#, kind: .bytes)
        }
        + [
            "A", "AQ", "AQI", "AQ=", "AQ===", "=", "====", "A===", "AQ==AQ==", "AQ==\\n", " AQ==", "AQ ==", "_-8=",
            "AR==",
            "AQJ=", "A=Q=", "AQIDé", "AQ=I", "\\u0000AAA",
        ].map { refuses(#""data_base64":"\#($0)""#, .invalidValue, at: "data_base64") }

    /// Specification, "REQUIRED Attributes".
    static let required: [EnvelopeVector] = [
        .refuses("", .unexpectedEnd), .refuses("{}", .missingMember, at: "specversion"),
        .refuses(#"[{"specversion":"1.0","id":"7","source":"/s","type":"a"}]"#, .typeMismatch),
        .refuses("[]", .typeMismatch),
        .refuses(#"{"specversion":"0.3","id":"7","source":"/s","type":"a"}"#, .invalidValue, at: "specversion"),
        .refuses(#"{"specversion":"1.0.2","id":"7","source":"/s","type":"a"}"#, .invalidValue, at: "specversion"),
        .refuses(#"{"specversion":1.0,"id":"7","source":"/s","type":"a"}"#, .typeMismatch, at: "specversion"),
        .refuses(#"{"specversion":null,"id":"7","source":"/s","type":"a"}"#, .missingMember, at: "specversion"),
        .refuses(#"{"specversion":"1.0","source":"/s","type":"a"}"#, .missingMember, at: "id"),
        .refuses(#"{"specversion":"1.0","id":null,"source":"/s","type":"a"}"#, .missingMember, at: "id"),
        .refuses(#"{"specversion":"1.0","id":"","source":"/s","type":"a"}"#, .invalidValue, at: "id"),
        .refuses(#"{"specversion":"1.0","id":7,"source":"/s","type":"a"}"#, .typeMismatch, at: "id"),
        .refuses(#"{"specversion":"1.0","id":"a\nb","source":"/s","type":"a"}"#, .invalidValue, at: "id"),
        .refuses(#"{"specversion":"1.0","uuid":"7","source":"/s","type":"a"}"#, .missingMember, at: "id"),
        .refuses(#"{"specversion":"1.0","id":"7","type":"a"}"#, .missingMember, at: "source"),
        .refuses(#"{"specversion":"1.0","id":"7","source":"","type":"a"}"#, .invalidValue, at: "source"),
        .refuses(#"{"specversion":"1.0","id":"7","source":null,"type":"a"}"#, .missingMember, at: "source"),
        .refuses(#"{"specversion":"1.0","id":"7","source":{},"type":"a"}"#, .typeMismatch, at: "source"),
        .refuses(#"{"specversion":"1.0","id":"7","source":"/s"}"#, .missingMember, at: "type"),
        .refuses(#"{"specversion":"1.0","id":"7","source":"/s","type":null}"#, .missingMember, at: "type"),
        .refuses(#"{"specversion":"1.0","id":"7","source":"/s","type":""}"#, .invalidValue, at: "type"),
        .refuses(#"{"specversion":"1.0","id":"7","source":"/s","type":7}"#, .typeMismatch, at: "type"),
        .refuses(#"{"specversion":"1.0","id":"7","source":"/s","type":"a b"}"#, .invalidValue, at: "type"),
        .refuses(#"{"specversion":"1.0","id":"7","source":"/s","type":"a/b"}"#, .invalidValue, at: "type"),
        .refuses(#"{"specversion":"1.0","id":"7","source":"/s","type":"\u0430"}"#, .invalidValue, at: "type"),
        .refuses(#"{"specversion":"1.0","id":"7","source":"/s","type":"signalbox.x"}"#, .invalidValue, at: "type"),
        .refuses(#"{"specversion":"1.0","id":"7","source":"/s","action":"a"}"#, .missingMember, at: "type"),
        .refuses(#"{"specversion":"1.0","id":"7","source":"/s","type":"a","i\u0064":"8"}"#, .duplicateKey),
        .reads(
            #"{"type":"com.github.pull_request.opened","id":"A234-1234-1234","source":"mailto:x@y","specversion":"1.0"}"#,
            "com.github.pull_request.opened",
            id: "A234-1234-1234",
            body: "null"
        ),
        .reads(
            #"{"sp\u0065cversion":"1.\u0030","\u0069d":"\u0037","source":"/s","type":"\u0061"}"#,
            "a",
            id: "7",
            body: "null"
        ),
    ]

    /// Specification, "OPTIONAL Attributes" and "Type System"; JSON event format, section 2.
    static let attributes: [EnvelopeVector] = [
        reads(#""subject":"123","dataschema":"https://a.example/s""#, body: "null"),
        reads(#""subject":null,"unsetextension":null,"time":null"#, body: "null"),
        reads(#""comexampleextension1":"value","comexampleothervalue":5,"flag":true"#, body: "null"),
        reads(#""low":-2147483648,"high":2147483647,"zero":-0,"empty":"""#, body: "null"),
        reads(#""anextensionwithmorethantwentycharacters":"x""#, body: "null"),
        refuses(#""subject":"""#, .invalidValue, at: "subject"), refuses(#""subject":7"#, .typeMismatch, at: "subject"),
        refuses(#""dataschema":"""#, .invalidValue, at: "dataschema"),
        refuses(#""datacontenttype":"""#, .invalidValue, at: "datacontenttype"),
        refuses(#""datacontenttype":"json""#, .invalidValue, at: "datacontenttype"),
        refuses(#""datacontenttype":"a/b/c""#, .invalidValue, at: "datacontenttype"),
        refuses(#""datacontenttype":"/json""#, .invalidValue, at: "datacontenttype"),
        refuses(#""datacontenttype":"application/""#, .invalidValue, at: "datacontenttype"),
        refuses(#""datacontenttype":true"#, .typeMismatch, at: "datacontenttype"),
        refuses(#""comExample":"x""#, .invalidValue, at: "comExample"),
        refuses(#""a_b":"x""#, .invalidValue, at: "a_b"),
        refuses(#""Data":1"#, .invalidValue, at: "Data"), refuses(#""dàta":1"#, .invalidValue, at: "?"),
        refuses(#""":1"#, .invalidValue, at: "?"), refuses(#""DATA_BASE64":"""#, .invalidValue, at: "DATA_BASE64"),
        refuses(#""bad name":null"#, .invalidValue, at: "?"),
        refuses(#""extension":{}"#, .typeMismatch, at: "extension"),
        refuses(#""extension":["x"]"#, .typeMismatch, at: "extension"),
        refuses(#""extension":1.5"#, .notAnInteger, at: "extension"),
        refuses(#""extension":1e3"#, .notAnInteger, at: "extension"),
        refuses(#""extension":2147483648"#, .integerOutOfRange, at: "extension"),
        refuses(#""extension":-2147483649"#, .integerOutOfRange, at: "extension"),
        refuses(#""extension":99999999999999999999999999"#, .integerOutOfRange, at: "extension"),
        refuses(#""extension":"a\u0000""#, .invalidValue, at: "extension"),
        refuses(#""extension":"\u0085""#, .invalidValue, at: "extension"),
        refuses(#""extension":"\ufffe""#, .invalidValue, at: "extension"),
        refuses(#""extension":"\ufdd0""#, .invalidValue, at: "extension"),
        refuses(#""extension":"\udbff\udfff""#, .invalidValue, at: "extension"),
        refuses(#""extension":"\udead""#, .loneSurrogate),
        refuses("\"extension\":\"\u{7F}\"", .invalidValue, at: "extension"),
    ]

    /// RFC 3339 section 5.6.
    static let times: [EnvelopeVector] =
        [
            "2018-04-05T17:31:00Z", "2018-04-05t17:31:00z", "2018-04-05T17:31:00.000000000001+23:59",
            "2018-04-05T17:31:00-00:00", "2020-02-29T00:00:00Z", "2000-02-29T00:00:00Z", "0000-01-01T00:00:00Z",
            "9999-12-31T23:59:59Z", "1990-12-31T23:59:60Z", "1990-12-31T15:59:60-08:00", "1991-01-01T00:59:60+01:00",
        ].map { reads(#""time":"\#($0)""#, body: "null") }
        + [
            "", "2018", "2018-04-05", "2018-04-05T17:31Z", "2018-04-05T17:31:00", "2018-04-05 17:31:00Z",
            "2018-4-5T17:31:00Z",
            "2018-13-05T17:31:00Z", "2018-00-05T17:31:00Z", "2018-04-31T17:31:00Z", "2018-04-00T17:31:00Z",
            "2019-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2018-04-05T24:00:00Z", "2018-04-05T17:60:00Z",
            "2018-04-05T17:31:61Z", "2018-04-05T17:31:60Z", "1990-12-31T23:59:60+01:00", "2018-04-05T17:31:00.Z",
            "2018-04-05T17:31:00,5Z", "2018-04-05T17:31:00+24:00", "2018-04-05T17:31:00+01:60",
            "2018-04-05T17:31:00+0100",
            "2018-04-05T17:31:00+01", "2018-04-05T17:31:00Zx", " 2018-04-05T17:31:00Z", "+018-04-05T17:31:00Z",
            "2018-04-05T17:31:00ZZ", "２018-04-05T17:31:00Z", "2018-04-05T17:31:0٠Z",
        ].map { refuses(#""time":"\#($0)""#, .invalidValue, at: "time") } + [
            refuses(#""time":1522949460"#, .typeMismatch, at: "time")
        ]
}
