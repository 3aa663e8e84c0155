import Foundation
import SignalboxCore
import Testing

@Suite struct DecodingTests {
    struct Payment: Codable, Equatable {
        var amount: Int
        var transactionId: String
        var note: String?
        var urgent: Bool?
    }
    enum Shape: Codable, Equatable {
        case circle(radius: Double)
        case square(Int, name: String)
        case none
    }
    enum Level: String, Codable { case low, high }
    struct Everything: Codable, Equatable {
        var shapes: [Shape]
        var level: Level
        var counts: [String: UInt64]
        var bytes: [UInt8]
        var matrix: [[Int]]
        var texts: [String?]
        var small: Int8
        var float: Float
        var id: UUID
        var payment: Payment
    }

    @Test func membersDecodeByNameInAnyOrder() throws {
        let body = try Reading.body(#"{"note":null,"transactionId":"t-\u00e9","x":[{}],"amount":-5}"#)
        let expected = Payment(amount: -5, transactionId: "t-\u{E9}", note: nil, urgent: nil)
        #expect(try body.decode(Payment.self) == expected)
    }

    @Test func theDecoderReadsTheWritersOutput() throws {
        let value = Everything(
            shapes: [.circle(radius: 0.1), .square(3, name: "q\"\n"), .none],
            level: .high,
            counts: ["max": .max, "z\u{E9}ro": 0],
            bytes: [0, 255],
            matrix: [[1], [], [Int.min, Int.max]],
            texts: ["a", nil],
            small: -128,
            float: 1.5,
            id: UUID(),
            payment: Payment(amount: 1, transactionId: "t", note: "n", urgent: true)
        )
        let bytes = try BodyWriter.write(value)
        #expect(try Reading.body(Array(bytes)).decode(Everything.self) == value)
        #expect(try JSONDecoder().decode(Everything.self, from: Data(bytes)) == value)
        let foreign = try JSONEncoder().encode(value)
        #expect(try Reading.body([UInt8](foreign)).decode(Everything.self) == value)
    }

    @Test(
        arguments: [
            ("{}", BodyError.Code.missingMember, "body.amount"),
            (#"{"amount":"5"}"#, .typeMismatch, "body.amount"), (#"{"amount":null}"#, .valueMissing, "body.amount"),
            (#"{"amount":1.0}"#, .notAnInteger, "body.amount"), (#"{"amount":1e2}"#, .notAnInteger, "body.amount"),
            (#"{"amount":9223372036854775808}"#, .integerOutOfRange, "body.amount"),
            (#"{"amount":-9223372036854775809}"#, .integerOutOfRange, "body.amount"),
            (#"{"amount":123456789012345678901234567890}"#, .integerOutOfRange, "body.amount"),
            (#"{"amount":1,"transactionId":7}"#, .typeMismatch, "body.transactionId"),
            (#"{"amount":1,"transactionId":"t","urgent":0}"#, .typeMismatch, "body.urgent"),
            ("[]", .typeMismatch, "body"), ("null", .valueMissing, "body"), ("7", .typeMismatch, "body"),
        ])
    func aMismatchedBodyIsRejectedWithItsPath(_ text: String, code: BodyError.Code, path: String) throws {
        let error = try Reading.decodingError(text, as: Payment.self)
        #expect(error?.code == code)
        #expect(error?.path == path)
    }

    @Test func errorsHavePathAndOffset() throws {
        struct Item: Decodable { let name: String }
        struct Order: Decodable { let items: [Item] }
        let message = #"{"action":"order","body":{"items":[{"name":"a"},{"name":7}]}}"#
        let body = try Reading.action(message).body
        let expected = BodyError(
            .typeMismatch,
            path: "body.items[1].name",
            offset: 56,
            detail: "expected a string, found a number"
        )
        #expect(throws: expected) { try body.decode(Order.self) }
    }

    @Test func valuesOutsideTheMessageHaveNoOffset() throws {
        let captures = [RouteNaming.Capture(name: "n", value: "")]
        let shapes: [(String, Envelope)] = [
            ("", Reading.anyRoute), (#"{"action":"a"}"#, .standard),
            ("", .route(RouteNaming(action: "test", captures: captures))),
        ]
        for (message, envelope) in shapes {
            var batch = ArrivalBatch(pool: ArrivalPool())
            for _ in 0..<2 { Reading.append(Array(message.utf8), to: &batch, envelope: envelope) }
            Reading.append(Array("[1]".utf8), to: &batch, envelope: Reading.anyRoute)
            for arrival in batch.take().prefix(2) {
                let body = try arrival.reading.get().body
                #expect(Reading.decodingError(body, as: Int.self)?.offset == nil)
                #expect(Reading.decodingError(body, as: [String: Int].self)?.offset == nil)
            }
        }
    }

    @Test func theSearchForAnErrorPathIsBounded() throws {
        let flat = "[" + String(repeating: "1,", count: 30_000) + "true]"
        #expect(try Reading.decodingError(flat, as: [Int].self)?.path == "body[30000]")
        for (count, path) in [(998, "body[999][0]"), (999, "body.?")] {
            let nested = "[" + String(repeating: "[],", count: count) + "[],[true]]"
            let error = try Reading.decodingError(nested, as: [[Int]].self)
            #expect(error?.path == path)
            #expect(error?.offset == nested.utf8.count - 6)
        }
        let members = (0..<1_001).map { #""m\#($0)":1"# }.joined(separator: ",")
        let error = try Reading.decodingError("{\(members),\"last\":true}", as: [String: Int].self)
        #expect(error?.path == "body.?")
    }

    @Test func dictionaryKeysAreNotShownInErrorPaths() throws {
        let error = try Reading.decodingError(#"{"a secret":"x"}"#, as: [String: Int].self)
        #expect(error?.path == "body.?")
    }

    @Test func integersDecodeOnlyIfTheyFitTheType() throws {
        #expect(try Reading.body("18446744073709551615").decode(UInt64.self) == .max)
        #expect(try Reading.body("-9223372036854775808").decode(Int64.self) == .min)
        #expect(try Reading.body("-0").decode(Int.self) == 0)
        #expect(try Reading.decodingError("256", as: UInt8.self)?.code == .integerOutOfRange)
        #expect(try Reading.decodingError("-1", as: UInt64.self)?.code == .integerOutOfRange)
        #expect(try Reading.decodingError("18446744073709551616", as: UInt64.self)?.code == .integerOutOfRange)
        #expect(try Reading.decodingError("-18446744073709551615", as: Int64.self)?.code == .integerOutOfRange)
    }

    @Test func integersDecodeAsFloatsOnlyIfExact() throws {
        #expect(try Reading.body("9007199254740992").decode(Double.self) == 9_007_199_254_740_992)
        #expect(try Reading.decodingError("9007199254740993", as: Double.self)?.code == .inexactNumber)
        #expect(try Reading.body("100000000000000000000").decode(Double.self) == 1e20)
        #expect(try Reading.decodingError("100000000000000000001", as: Double.self)?.code == .inexactNumber)
        #expect(try Reading.decodingError("16777217", as: Float.self)?.code == .inexactNumber)
        #expect(try Reading.body("16777216").decode(Float.self) == 16_777_216)
    }

    @Test func fractionsRoundToNearestAndOverflowIsRefused() throws {
        for text in [
            "0.1", "-2.5", "1.7976931348623157e308", "5e-324", "1e-999", "3.141592653589793", "0.30000000000000004",
        ] {
            #expect(try Reading.body(text).decode(Double.self) == Double(text))
        }
        #expect(try Reading.body("0.1").decode(Float.self) == 0.1)
        #expect(try Reading.decodingError("1e400", as: Double.self)?.code == .numberOutOfRange)
        #expect(try Reading.decodingError("1e39", as: Float.self)?.code == .numberOutOfRange)
        #expect(try Reading.body("-0").decode(Double.self).sign == .minus)
    }

    @Test func nestedContainersAndSuperDecodersWork() throws {
        struct Deep: Decodable {
            enum Keys: String, CodingKey { case a, b, list, parent }
            let x: Int, y: [Int], count: Int, parent: String, usual: Int
            init(from decoder: any Decoder) throws {
                let root = try decoder.container(keyedBy: Keys.self)
                x = try root.nestedContainer(keyedBy: Keys.self, forKey: .a).decode(Int.self, forKey: .b)
                var list = try root.nestedUnkeyedContainer(forKey: .list)
                count = list.count ?? -1
                var y: [Int] = []
                while !list.isAtEnd { if try !list.decodeNil() { y.append(try list.decode(Int.self)) } }
                self.y = y
                parent = try String(from: root.superDecoder(forKey: .parent))
                usual = try Int(from: root.superDecoder())
            }
        }
        let text = #"{"super":9,"a":{"b":1},"list":[1,null,3],"parent":"p"}"#
        let value = try Reading.body(text).decode(Deep.self)
        #expect((value.x, value.count, value.parent, value.usual) == (1, 3, "p", 9))
        #expect(value.y == [1, 3])
    }

    @Test func aRetainedDecoderRemainsUsable() throws {
        struct Keeper: Decodable {
            let decoder: any Decoder
            init(from decoder: any Decoder) { self.decoder = decoder }
        }
        let keeper = try Reading.body(#"{"a":"a text that is longer than inline storage"}"#).decode(Keeper.self)
        let values = try keeper.decoder.singleValueContainer().decode([String: String].self)
        #expect(values == ["a": "a text that is longer than inline storage"])
        #expect(keeper.decoder.codingPath.isEmpty)
    }

    @Test func anErrorThrownByATypeBecomesInvalidValue() throws {
        let error = try Reading.decodingError(#"{"level":"secret"}"#, as: [String: Level].self)
        #expect(error == BodyError(.invalidValue, path: "body.level"))
        #expect(try Reading.decodingError(#""no uuid""#, as: UUID.self)?.code == .invalidValue)
    }

    @Test func textAndBytesDecodeOnlyAsTheirOwnType() throws {
        let bytes = try Reading.body([0xFF, 0x00], payload: .bytes)
        #expect(try bytes.decode(Bytes.self).elementsEqual([0xFF, 0x00]))
        #expect(throws: BodyError.self) { try bytes.decode(String.self) }
        let text = try Reading.body(Array("21.5".utf8), payload: .text)
        #expect(try text.decode(String.self) == "21.5")
        #expect(throws: BodyError.self) { try text.decode(Double.self) }
        #expect(throws: BodyError.self) { try text.decode(Bytes.self) }
        #expect(try Reading.decodingError("[1]", as: Bytes.self)?.code == .typeMismatch)
    }

    @Test func rawBodiesAlwaysDecode() throws {
        for (text, raw) in [
            (#"{"action":"a","body":{"x" : 1}}"#, #"{"x" : 1}"#), (#"{"action":"a","body":"q"}"#, #""q""#),
        ] {
            #expect(try Reading.action(text).body.decode(RawBody.self) == RawBody(bytes: Bytes(raw), kind: .json))
        }
        for kind in PayloadKind.allCases {
            let body = try Reading.body([], payload: kind)
            #expect(try body.decode(RawBody.self) == RawBody(bytes: Bytes(""), kind: kind))
            #expect(try body.decode(String?.self) == nil)
        }
    }
}

@Suite struct WideIntegerTests {
    @Test func integersBeyond64BitsAreRefusedWithoutATrap() throws {
        struct Wide: Codable { let value: Int128 }
        #expect(try Reading.decodingError(#"{"value":1}"#, as: Wide.self) != nil)
        #expect(try Reading.decodingError("[1]", as: [UInt128].self) != nil)
        #expect(try Reading.decodingError("1", as: Int128.self) != nil)
        #expect(throws: BodyError.self) { try BodyWriter.write(Wide(value: 1)) }
    }
}

@Suite struct BodyReaderTests {
    struct Payment: BodyReadable, Equatable {
        let amount: Int
        let note: String?
        let names: [String]
        let inner: Double

        init(reading body: borrowing BodyReader) throws(BodyError) {
            amount = try body.int("amount")
            note = try body.stringIfPresent("note")
            names = try body.array("names") { element throws(BodyError) in try element.string() }
            inner = try body.object("o") { object throws(BodyError) in try object.double("d") }
            if amount < 0 { throw body.invalid("amount", "expected a non-negative amount") }
        }
    }
    struct Holder: Decodable, Equatable { let payments: [Payment] }

    private static let text = #"{"amount":5,"names":["a","b\n"],"o":{"d":1.5}}"#

    @Test func aTypeReadsItsMembersWithABodyReader() throws {
        let payment = try Reading.body(BodyReaderTests.text).decode(Payment.self)
        #expect((payment.amount, payment.note, payment.inner) == (5, nil, 1.5))
        #expect(payment.names == ["a", "b\n"])
    }

    @Test func codableTypesMayContainBodyReadableTypes() throws {
        let holder = try Reading.body(#"{"payments":[\#(BodyReaderTests.text)]}"#).decode(Holder.self)
        #expect(holder.payments.count == 1)
        let error = try Reading.decodingError(#"{"payments":[{"amount":true}]}"#, as: Holder.self)
        #expect(error?.path == "body.payments[0].amount")
        #expect(error?.code == .typeMismatch)
    }

    @Test(
        arguments: [
            (#"{"amount":-1,"names":[],"o":{"d":1}}"#, BodyError.Code.invalidValue, "body.amount"),
            (#"{"amount":1,"names":[1],"o":{"d":1}}"#, .typeMismatch, "body.names[0]"),
            (#"{"amount":1,"names":[],"o":{}}"#, .missingMember, "body.o.d"),
            (#"{"amount":1,"names":[],"o":[]}"#, .typeMismatch, "body.o"), ("[]", .typeMismatch, "body"),
            (#"{"amount":1,"note":2}"#, .typeMismatch, "body.note"),
        ])
    func invalidValuesAreRefusedWithTheirPath(_ text: String, code: BodyError.Code, path: String) throws {
        let error = try Reading.decodingError(text, as: Payment.self)
        #expect(error?.code == code)
        #expect(error?.path == path)
    }
}
