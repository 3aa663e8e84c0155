import SignalboxCore
import Testing

@Suite struct RouteBodyTests {
    private static let captures = [
        RouteNaming.Capture(name: "device", value: "lamp"), RouteNaming.Capture(name: "n", value: "12"),
    ]

    @Test func aCaptureWinsOverAMemberOfTheSameName() throws {
        let body = try Reading.body(
            #"{"a":"x","n":"99","\u0064evice":"evil","z":"y"}"#,
            captures: RouteBodyTests.captures
        )
        #expect(try body.decode([String: String].self) == ["a": "x", "n": "12", "device": "lamp", "z": "y"])
        #expect(body.jsonText == #"{"device":"lamp","n":"12","a":"x","z":"y"}"#)
    }

    /// As Swift's `String`s are: whichever way an accent is written, and whether by an escape.
    @Test(arguments: [("é", "e\u{301}"), ("e\u{301}", "é"), ("é", #"\u00e9"#), ("K", "\u{212a}"), ("\u{212a}", "K")])
    func aMemberIsHiddenWhoseNameIsTheSameText(_ capture: String, _ member: String) throws {
        let captures = [("other", "1"), (capture, "mine")].map { RouteNaming.Capture(name: $0.0, value: $0.1) }
        let body = try Reading.body(#"{"a":"x","\#(member)":"theirs","z":"y"}"#, captures: captures)
        #expect(try body.decode([String: String].self) == ["a": "x", "other": "1", capture: "mine", "z": "y"])
        #expect(!body.jsonText.contains("theirs"))
    }

    @Test func textOfARouteConvertsAndAStringDoesNot() throws {
        struct Info: Decodable { let n: Int, device: String }
        #expect(try Reading.body("null", captures: RouteBodyTests.captures).decode(Info.self).n == 12)
        let error = try Reading.decodingError(#"{"n":"12","device":"lamp"}"#, as: Info.self)
        #expect(error?.path == "body.n")
    }

    @Test(arguments: ["", "+1", "01", "1.0", "1e2", " 1", "1 ", "0x1", "-", "\u{661}", "9223372036854775808"])
    func noOtherFormOfAnIntegerConverts(_ text: String) throws {
        let captures = [RouteNaming.Capture(name: "n", value: text)]
        #expect(try Reading.decodingError("{}", as: [String: Int].self, captures: captures) != nil)
    }

    @Test func boolsEnumsAndDoublesConvertByOneRule() throws {
        enum Level: String, Decodable { case low }
        func decode<Value: Decodable>(_ text: String, _ type: Value.Type) throws -> Value? {
            let captures = [RouteNaming.Capture(name: "n", value: text)]
            return try? Reading.body("{}", captures: captures).decode([String: Value].self)["n"]
        }
        #expect(try decode("true", Bool.self) == true)
        #expect(try decode("True", Bool.self) == nil)
        #expect(try decode("1", Bool.self) == nil)
        #expect(try decode("low", Level.self) == .low)
        #expect(try decode("Low", Level.self) == nil)
        #expect(try decode("-0.5e1", Double.self) == -5)
        #expect(try decode("nan", Double.self) == nil)
        #expect(try decode("9007199254740993", Double.self) == nil)
        #expect(try decode("-7", Int8.self) == -7)
    }

    @Test func bodiesThatAreNoObjectStayAsTheyAre() throws {
        #expect(try Reading.body("[1]", captures: RouteBodyTests.captures).decode([Int].self) == [1])
        let text = try Reading.body(Array("on".utf8), captures: RouteBodyTests.captures, payload: .text)
        #expect(try text.decode(String.self) == "on")
        let empty = try Reading.body([], captures: RouteBodyTests.captures, payload: .bytes)
        #expect(try empty.decode([String: String].self) == ["device": "lamp", "n": "12"])
        #expect(empty.jsonText == #"{"device":"lamp","n":"12"}"#)
    }

    @Test func anEmptyObjectAndCapturesAreTheCaptures() throws {
        let body = try Reading.body("{}", captures: RouteBodyTests.captures)
        #expect(try body.decode([String: String].self).count == 2)
        #expect(try body.decode(RawBody.self).bytes.elementsEqual("{}".utf8))
    }

    @Test(arguments: ["7", ".5", "e5", "-1"])
    func theTextOfACaptureEndsWhereItEnds(_ neighbour: String) throws {
        let captures = ["n", neighbour, "m"].map { RouteNaming.Capture(name: $0, value: "12") }
        let envelope = Envelope.route(RouteNaming(action: "test", captures: captures))
        var batch = ArrivalBatch(pool: ArrivalPool())
        Reading.append([], to: &batch, envelope: envelope)
        Reading.append(Array(neighbour.utf8), to: &batch, envelope: Reading.anyRoute, payload: .text)
        let body = try Missing.unwrap(batch.take().first).reading.get().body
        #expect(try body.decode([String: Int].self) == ["n": 12, neighbour: 12, "m": 12])
        #expect(try body.decode([String: Double].self) == ["n": 12, neighbour: 12, "m": 12])
    }
}
