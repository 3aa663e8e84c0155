import SignalboxCore
import Testing

@Suite struct LargeObjectTests {
    /// Returns a plain, accented or escaped name.
    private static func name(_ number: Int) -> String {
        switch number % 4 {
        case 0: "n\(number)"
        case 1: "\u{E9}\(number)"
        case 2: "quoted \"\(number)\""
        default: "e\(number)"
        }
    }

    private static func object(_ count: Int, _ value: (Int) -> String = { "\($0)" }) throws -> String {
        let members = try (0..<count).map { "\(try BodyWriter.write(name($0)).text ?? ""):\(value($0))" }
        return "{" + members.joined(separator: ",") + "}"
    }

    private struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    /// Reads the members with the given numbers, in each of the given orders.
    private struct Picked: Decodable {
        static let orders = [
            Array(0..<100), (0..<100).reversed(), [99, 0, 99, 50, 51, 50, 52, 99], [99, 100, 0, 1, 101, 2],
        ]
        let values: [[Int?]]
        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Key.self)
            values = try Picked.orders.map { order in
                try order.map { number in
                    let key = Key(stringValue: LargeObjectTests.name(number))
                    return try container.contains(key) ? container.decode(Int.self, forKey: key) : nil
                }
            }
        }
    }

    @Test(arguments: [1, 64, 65, 66, 300])
    func allMembersAreFound(count: Int) throws {
        let body = try Reading.body(try LargeObjectTests.object(count))
        let table = try body.decode([String: Int].self)
        #expect(table.count == count)
        #expect((0..<count).allSatisfy { table[LargeObjectTests.name($0)] == $0 })
    }

    @Test func membersAreFoundInAnyOrder() throws {
        let body = try Reading.body(try LargeObjectTests.object(100))
        let expected = Picked.orders.map { order in order.map { $0 < 100 ? Optional($0) : nil } }
        #expect(try body.decode(Picked.self).values == expected)
    }

    @Test func nestedLargeObjectsAreDecoded() throws {
        let inner = try LargeObjectTests.object(70)
        let body = try Reading.body(try LargeObjectTests.object(70) { _ in inner })
        let table = try body.decode([String: [String: Int]].self)
        #expect(table.count == 70)
        #expect(table.values.allSatisfy { $0.count == 70 && $0[LargeObjectTests.name(69)] == 69 })
    }

    @Test func capturesOverrideMembersOfLargeObjects() throws {
        let captures = [RouteNaming.Capture(name: "n0", value: "7"), RouteNaming.Capture(name: "new", value: "8")]
        let body = try Reading.body(try LargeObjectTests.object(100), captures: captures)
        let table = try body.decode([String: Int].self)
        #expect(table.count == 101)
        #expect((table["n0"], table["new"], table["n4"]) == (7, 8, 4))
    }

    @Test func aBodyCanBeReadConcurrently() async throws {
        let body = try Reading.body(try LargeObjectTests.object(200))
        let sums = await withTaskGroup { group in
            for _ in 0..<8 { group.addTask { try? body.decode([String: Int].self).values.reduce(0, +) } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(sums == Array(repeating: 199 * 100, count: 8))
    }

    /// Quadratic work would take hours, on a slow machine days. The time limit detects it on any machine.
    @Test(.timeLimit(.minutes(30)))
    func readingAllMembersTakesLinearTime() throws {
        let body = try Reading.body(try LargeObjectTests.object(200_000))
        #expect(try body.decode([String: Int].self).count == 200_000)
    }
}

@Suite struct RouteBodyTests {
    private static let captures = [
        RouteNaming.Capture(name: "device", value: "lamp"), RouteNaming.Capture(name: "n", value: "12"),
    ]

    @Test func aCaptureOverridesAMemberOfTheSameName() throws {
        let body = try Reading.body(
            #"{"a":"x","n":"99","\u0064evice":"evil","z":"y"}"#,
            captures: RouteBodyTests.captures
        )
        #expect(try body.decode([String: String].self) == ["a": "x", "n": "12", "device": "lamp", "z": "y"])
        #expect(body.jsonText == #"{"device":"lamp","n":"12","a":"x","z":"y"}"#)
    }

    /// Names are equal as Swift's `String`s are, however an accent is composed and whether or not it is escaped.
    @Test(arguments: [("é", "e\u{301}"), ("e\u{301}", "é"), ("é", #"\u00e9"#), ("K", "\u{212a}"), ("\u{212a}", "K")])
    func aCaptureHidesAMemberWithAnEquivalentName(_ capture: String, _ member: String) throws {
        let captures = [("other", "1"), (capture, "mine")].map { RouteNaming.Capture(name: $0.0, value: $0.1) }
        let body = try Reading.body(#"{"a":"x","\#(member)":"theirs","z":"y"}"#, captures: captures)
        #expect(try body.decode([String: String].self) == ["a": "x", "other": "1", capture: "mine", "z": "y"])
        #expect(!body.jsonText.contains("theirs"))
    }

    @Test func routeTextConvertsToNumbersAndStringsDoNot() throws {
        struct Info: Decodable { let n: Int, device: String }
        #expect(try Reading.body("null", captures: RouteBodyTests.captures).decode(Info.self).n == 12)
        let error = try Reading.decodingError(#"{"n":"12","device":"lamp"}"#, as: Info.self)
        #expect(error?.path == "body.n")
    }

    @Test(arguments: ["", "+1", "01", "1.0", "1e2", " 1", "1 ", "0x1", "-", "\u{661}", "9223372036854775808"])
    func otherIntegerFormsDoNotConvert(_ text: String) throws {
        let captures = [RouteNaming.Capture(name: "n", value: text)]
        #expect(try Reading.decodingError("{}", as: [String: Int].self, captures: captures) != nil)
    }

    @Test func boolsEnumsAndDoublesConvertStrictly() throws {
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

    @Test func bodiesThatAreNotObjectsIgnoreCaptures() throws {
        #expect(try Reading.body("[1]", captures: RouteBodyTests.captures).decode([Int].self) == [1])
        let text = try Reading.body(Array("on".utf8), captures: RouteBodyTests.captures, payload: .text)
        #expect(try text.decode(String.self) == "on")
        let empty = try Reading.body([], captures: RouteBodyTests.captures, payload: .bytes)
        #expect(try empty.decode([String: String].self) == ["device": "lamp", "n": "12"])
        #expect(empty.jsonText == #"{"device":"lamp","n":"12"}"#)
    }

    @Test func anEmptyObjectContainsOnlyTheCaptures() throws {
        let body = try Reading.body("{}", captures: RouteBodyTests.captures)
        #expect(try body.decode([String: String].self).count == 2)
        #expect(try body.decode(RawBody.self).bytes.elementsEqual("{}".utf8))
    }

    @Test(arguments: ["7", ".5", "e5", "-1"])
    func captureNumbersStopAtTheEndOfTheirText(_ neighbour: String) throws {
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
