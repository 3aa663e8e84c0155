import Foundation
import SignalboxCore
import Testing

@Suite struct RemoteNotificationTests {
    private func arrival(_ userInfo: [AnyHashable: Any], limits: MessageLimits = MessageLimits()) throws -> Arrival {
        var batch = ArrivalBatch(pool: ArrivalPool(), limits: limits)
        batch.append(remoteNotification: userInfo, token: 9, origin: Reading.origin, receivedAt: Reading.time)
        #expect(batch.count == 1)
        return try Missing.unwrap(batch.take().first)
    }

    /// As the system makes it of a payload.
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

    @Test func booleansAndNumbersStayWhatTheyAre() throws {
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

    @Test func aNumberOfFoundationIsNoBooleanAndABooleanNoNumber() throws {
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

    @Test func theSamePushGivesTheSameBytes() throws {
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
    private func whatJSONHasNotIsMalformed(_ refused: Refused) throws {
        let arrival = try arrival(refused.userInfo())
        guard case .failure(let rejection) = arrival.reading else { return #expect(Bool(false), "it was read") }
        #expect(rejection.reason == .malformed)
        #expect(rejection.bodyError?.code == refused.code)
        #expect(rejection.bodyError?.path == refused.path)
        #expect(arrival.envelope == .apns)
        #expect(throws: BodyError.self) { try Body(json: arrival.original) }
    }

    @Test func aDictionaryWithoutApsIsNoPush() throws {
        let arrival = try arrival(["action": "a"])
        guard case .failure(let rejection) = arrival.reading else { return #expect(Bool(false), "it was read") }
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
                return #expect(Bool(false), "it was read")
            }
            #expect(rejection.bodyError?.code == .tooDeep)
        }
    }

    @Test func bytesAreBoundedWhileTheyAreWritten() throws {
        let limits = MessageLimits(bytes: 1_000)
        func userInfo(_ text: String) -> [AnyHashable: Any] { ["aps": [String: Any](), "action": "a", "x": text] }
        let frame = #"{"action":"a","aps":{},"x":""}"#.utf8.count
        let fitting = try arrival(userInfo(String(repeating: "x", count: 1_000 - frame)), limits: limits)
        #expect(try fitting.reading.get().name == "a")
        #expect(fitting.original.count == 1_000)
        for text in [String(repeating: "x", count: 1_001 - frame), String(repeating: "\u{1}", count: 900)] {
            let arrival = try arrival(userInfo(text), limits: limits)
            guard case .failure(let rejection) = arrival.reading else { return #expect(Bool(false), "it was read") }
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
