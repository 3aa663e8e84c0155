import Testing

@testable import SignalboxCore

@Suite struct ReplacedBodyTests {
    private struct NoFacts: OriginFacts { static let kind = "none" }

    private static func arrival(_ message: String) throws -> Arrival {
        var batch = ArrivalBatch(pool: ArrivalPool(maximumKept: 0))
        Array(message.utf8).withUnsafeBytes {
            let origin = Origin(source: "page", facts: NoFacts())
            batch.append($0, token: 7, origin: origin, receivedAt: WallTime(seconds: 5))
        }
        return try #require(batch.take().first)
    }

    @Test(arguments: [#"{"a":[1.50,"x"]}"#, "1", #""text \u0041""#, "null", "[]", "true"])
    func onlyTheBodyChanges(_ json: String) throws {
        var before = try Self.arrival(#"{"action":"pay","id":"i-1","body":{"n":1}}"#)
        before.isRedelivered = true
        let after = try before.replacingBody(Bytes(json), limits: MessageLimits())
        let (old, new) = (try before.reading.get(), try after.reading.get())
        #expect(new.name == old.name && new.id == old.id && new.idKey == old.idKey)
        #expect(after.origin === before.origin && after.receivedAt == before.receivedAt && after.isRedelivered)
        #expect(after.token == 7 && after.envelope == before.envelope)
        let raw = try new.body.decode(RawBody.self)
        #expect(String(decoding: raw.bytes, as: UTF8.self) == json && raw.kind == .json)
        #expect(old.body.jsonText == #"{"n":1}"#)
    }

    @Test func anAssignedIDStays() throws {
        let before = try Self.arrival(#"{"action":"pay"}"#)
        let once = try before.replacingBody(Bytes("1"), limits: MessageLimits())
        let twice = try once.replacingBody(Bytes("2"), limits: MessageLimits()).reading.get()
        #expect(try twice.id == before.reading.get().id)
        #expect(twice.idKey == .assigned && twice.body.jsonText == "2")
    }

    @Test(arguments: [("[1,2]", MessageLimits(bytes: 4)), ("[[1]]", MessageLimits(depth: 1)), ("[1", MessageLimits())])
    func theLimitsHold(_ json: String, _ limits: MessageLimits) throws {
        let before = try Self.arrival(#"{"action":"pay"}"#)
        #expect(throws: BodyError.self) { try before.replacingBody(Bytes(json), limits: limits) }
    }
}

@Suite struct PointerTests {
    @Test(arguments: [
        ([], #"{"a":[10,{"b":null}],"":1}"#), (["a", "0"], "10"), (["a", "1", "b"], "null"), ([""], "1"),
        (["a", "2"], nil), (["a", "01"], nil), (["a", "-"], nil), (["a", "+1"], nil), (["a", ""], nil), (["c"], nil),
        (["a", "99999999999999999999"], nil), (["a", "0", "x"], nil), (["a", "b"], nil),
    ])
    func aPointerNamesAValueOrNothing(_ pointer: [String], _ expected: String?) throws {
        let body = try Body(json: Bytes(#"{"a":[10,{"b":null}],"":1}"#))
        #expect(body.value(at: pointer)?.jsonText == expected)
    }
}
