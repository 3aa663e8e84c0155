import Foundation
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

@Suite struct RemoteNotificationTests {
    private func arrival(_ userInfo: [AnyHashable: Any], limits: MessageLimits = MessageLimits()) throws -> Arrival {
        var batch = ArrivalBatch(pool: ArrivalPool(), limits: limits)
        batch.append(remoteNotification: userInfo, token: 9, origin: Reading.origin, receivedAt: Reading.time)
        #expect(batch.count == 1)
        return try Missing.unwrap(batch.take().first)
    }

    /// Returns the dictionary that the system makes from a payload.
    private func delivered(_ payload: String) throws -> [AnyHashable: Any] {
        let object = try JSONSerialization.jsonObject(with: Data(payload.utf8))
        return try Missing.unwrap(object as? [AnyHashable: Any])
    }

    @Test func aDeliveredPushIsReadLikeItsPayload() throws {
        let payload = #"{"uuid":"u","number":42,"aps":{"alert":{"title":"Hi"},"badge":1},"action":"order","gift":true}"#
        let arrival = try arrival(try delivered(payload))
        let action = try arrival.reading.get()
        #expect(arrival.envelope == .apns)
        #expect(arrival.token == 9 && arrival.origin === Reading.origin && arrival.receivedAt == Reading.time)
        #expect(action.name == "order" && action.id.text == "u" && action.idKey == .uuid)
        #expect(action.body.jsonText == #"{"gift":true,"number":42}"#)
        #expect(action.aps?.jsonText == #"{"alert":{"title":"Hi"},"badge":1}"#)
        let sorted = #"{"action":"order","aps":{"alert":{"title":"Hi"},"badge":1},"gift":true,"number":42,"uuid":"u"}"#
        #expect(arrival.original.text == sorted)
    }

    private struct Values: Decodable, Sendable {
        let yes, no: Bool
        let one, zero, least: Int
        let most: UInt64
        let half, large: Double
        let nothing: Int?
        let list: [Bool]
        let text: String
    }

    @Test func booleansAndNumbersArePreserved() throws {
        let text = #"""
            {"aps":{},"action":"a","yes":true,"no":false,"one":1,"zero":0,"least":-9223372036854775808,
            "most":18446744073709551615,"half":0.5,"large":1e300,"nothing":null,"list":[true,false],"text":"\u0007é\"\\\u0085"}
            """#
        let fromFoundation = try arrival(try delivered(text))
        let plain: [AnyHashable: Any] = [
            "aps": [String: Int](), "action": "a", "yes": true, "no": false, "one": 1, "zero": Int8(0),
            "least": Int64.min,
            "most": UInt64.max, "half": 0.5, "large": Double(1e300), "nothing": NSNull(), "list": [true, false],
            "text": "\u{7}é\"\\\u{85}",
        ]
        for arrival in [fromFoundation, try arrival(plain)] {
            let values = try arrival.reading.get().body.decode(Values.self)
            #expect(values.yes && !values.no && values.list == [true, false])
            #expect(values.one == 1 && values.zero == 0 && values.least == .min && values.most == .max)
            #expect(values.half == 0.5 && values.large == 1e300 && values.nothing == nil)
            #expect(values.text == "\u{7}é\"\\\u{85}")
        }
        #expect(fromFoundation.original == (try arrival(plain)).original)
    }

    @Test func nsNumbersAreDistinguishedFromBooleans() throws {
        let userInfo: [AnyHashable: Any] = [
            "aps": NSDictionary(), "action": NSString("a"), "yes": NSNumber(value: true), "one": NSNumber(value: 1),
            "half": NSNumber(value: 1.5), "whole": NSNumber(value: 3.0),
            "decimal": NSDecimalNumber(string: "123456789012345678901234567890"),
            "list": NSArray(array: [NSNumber(value: 0)]),
        ]
        let body = try arrival(userInfo).reading.get().body
        let digits = "123456789012345678901234567890"
        #expect(body.jsonText == #"{"decimal":\#(digits),"half":1.5,"list":[0],"one":1,"whole":3,"yes":true}"#)
    }

    @Test func equalPushesProduceEqualBytes() throws {
        let names = (0..<200).map { "name\($0)" }
        func userInfo(_ names: [String]) -> [AnyHashable: Any] {
            var userInfo: [AnyHashable: Any] = ["aps": [String: Any](), "action": "a"]
            for name in names { userInfo[name] = ["b": name, "a": 1] as [String: Any] }
            return userInfo
        }
        let first = try arrival(userInfo(names)).original
        #expect(try arrival(userInfo(names.reversed())).original == first)
        #expect(try arrival(userInfo(names.shuffled())).original == first)
    }

    private struct Refused: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let code: BodyError.Code
        let path: String
        let userInfo: @Sendable () -> [AnyHashable: Any]
    }

    private static let refused: [Refused] = [
        Refused(testDescription: "a date", code: .invalidValue, path: "when") { ["action": "a", "when": Date()] },
        Refused(testDescription: "data", code: .invalidValue, path: "a[1].b") { ["a": [1, ["b": Data()]] as [Any]] },
        Refused(testDescription: "a name that is a number", code: .invalidValue, path: "") { [1: "a"] },
        Refused(testDescription: "a name deeper down", code: .invalidValue, path: "a") { ["a": [1: "a"]] },
        Refused(testDescription: "NaN", code: .nonfiniteNumber, path: "n") { ["n": Double.nan] },
        Refused(testDescription: "NSNumber NaN", code: .nonfiniteNumber, path: "n") {
            ["n": NSNumber(value: Double.nan)]
        },
        Refused(testDescription: "a decimal NaN", code: .nonfiniteNumber, path: "n") {
            ["n": NSDecimalNumber.notANumber]
        },
        Refused(testDescription: "infinity", code: .nonfiniteNumber, path: "n") { ["n": -Float.infinity] },
        Refused(testDescription: "a closure", code: .invalidValue, path: "f") { ["f": { 1 } as () -> Int] },
        Refused(testDescription: "a type", code: .invalidValue, path: "t") { ["t": Int.self] },
        Refused(testDescription: "an odd name", code: .invalidValue, path: "?") { ["a b": Date()] },
    ]

    @Test(arguments: refused)
    private func valuesWithoutAJSONFormAreMalformed(_ refused: Refused) throws {
        let arrival = try arrival(refused.userInfo())
        guard case .failure(let rejection) = arrival.reading else {
            return #expect(Bool(false), "the payload was accepted")
        }
        #expect(rejection.reason == .malformed)
        #expect(rejection.bodyError?.code == refused.code)
        #expect(rejection.bodyError?.path == refused.path)
        #expect(arrival.envelope == .apns)
        #expect(throws: BodyError.self) { try Body(json: arrival.original) }
    }

    @Test func aDictionaryWithoutApsIsMalformed() throws {
        let arrival = try arrival(["action": "a"])
        guard case .failure(let rejection) = arrival.reading else {
            return #expect(Bool(false), "the payload was accepted")
        }
        #expect(rejection.bodyError?.path == "aps")
        #expect(arrival.original.text == #"{"action":"a"}"#)
    }

    @Test func depthIsBounded() throws {
        func nested(_ levels: Int) -> [AnyHashable: Any] {
            var value: Any = 1
            for _ in 0..<levels { value = [value] }
            return ["aps": [String: Any](), "action": "a", "deep": value]
        }
        #expect(try arrival(nested(63)).reading.get().name == "a")
        for levels in [64, 5_000] {
            guard case .failure(let rejection) = try arrival(nested(levels)).reading else {
                return #expect(Bool(false), "the payload was accepted")
            }
            #expect(rejection.bodyError?.code == .tooDeep)
        }
    }

    @Test func bytesAreBoundedDuringEncoding() throws {
        let limits = MessageLimits(bytes: 1_000)
        func userInfo(_ text: String) -> [AnyHashable: Any] { ["aps": [String: Any](), "action": "a", "x": text] }
        let frame = #"{"action":"a","aps":{},"x":""}"#.utf8.count
        let fitting = try arrival(userInfo(String(repeating: "x", count: 1_000 - frame)), limits: limits)
        #expect(try fitting.reading.get().name == "a")
        #expect(fitting.original.count == 1_000)
        for text in [String(repeating: "x", count: 1_001 - frame), String(repeating: "\u{1}", count: 900)] {
            let arrival = try arrival(userInfo(text), limits: limits)
            guard case .failure(let rejection) = arrival.reading else {
                return #expect(Bool(false), "the payload was accepted")
            }
            #expect(rejection.bodyError?.code == .tooLarge)
        }
        var doubled: Any = [1, 2]
        for _ in 0..<60 { doubled = [doubled, doubled] }
        let huge = try arrival(["aps": [String: Any](), "action": "a", "x": doubled], limits: limits)
        #expect(huge.original.count <= 1_000)
        #expect(throws: Outcome.Rejection.self) { try huge.reading.get() }
    }

    @Test func aDeliveredPushMayBeLongerThanAPayloadOnTheWire() throws {
        let text = String(repeating: "x", count: Envelope.apnsLimit)
        #expect(try arrival(["aps": [String: Any](), "action": "a", "x": text]).reading.get().name == "a")
    }
}
