import SignalboxCore
import Testing

@Suite struct ContentHashTests {
    private struct Facts: OriginFacts {
        static let kind = "test"
        var retained = false
    }

    private static let hash = SeededHash()

    private static func content(
        _ original: String,
        _ envelope: Envelope = .standard,
        _ payload: PayloadKind = .json,
        behind others: [String] = [],
        retained: Bool = false
    ) throws -> UInt64 {
        var batch = ArrivalBatch(pool: ArrivalPool())
        let origin = Origin(source: "push", facts: Facts(retained: retained))
        for (text, form) in others.map({ ($0, Envelope.standard) }) + [(original, envelope)] {
            Array(text.utf8).withUnsafeBytes { bytes in
                batch.append(
                    bytes,
                    token: 0,
                    origin: origin,
                    receivedAt: WallTime(seconds: retained ? 1 : 2),
                    envelope: form,
                    payload: payload
                )
            }
        }
        let arrival = try #require(batch.take().last)
        try #require(arrival.isReadable)
        return arrival.contentHash(hash)
    }

    private static func route(_ captures: [(String, String)], action: ActionName? = "set") -> Envelope {
        .route(RouteNaming(action: action, captures: captures.map { RouteNaming.Capture(name: $0.0, value: $0.1) }))
    }

    private static func link(_ captures: [(String, String)]) -> Envelope {
        .address("open", id: nil, captures: captures.map { RouteNaming.Capture(name: $0.0, value: $0.1) })
    }

    @Test func theHashDoesNotDependOnThePosition() throws {
        let text = #"{"action":"pay","id":"1","body":{"amount":[1,2],"note":"é"}}"#
        let first = try Self.content(text)
        #expect(try Self.content(text, retained: true) == first)
        #expect(try Self.content(text, behind: ["not json", #"{"action":"other"}"#]) == first)
    }

    @Test func theHashIgnoresTextAroundTheBody() throws {
        let first = try Self.content(#"{"action":"pay","id":"1","body":{"amount":1}}"#)
        #expect(try Self.content(#"{ "body":{"amount":1}, "id":"2", "action":"pay", "more":0 }"#) == first)
        #expect(try Self.content(#"{"\u0061ction":"p\u0061y","body":{"amount":1}}"#) == first)
    }

    @Test(arguments: [
        #"{"action":"pay2","body":{"amount":1}}"#, #"{"action":"pay","body":{"amount":2}}"#,
        #"{"action":"pay","body":{"amount": 1}}"#, #"{"action":"pay","body":{"amount":1.0}}"#,
        #"{"action":"pay","body":{"amount":1,"more":null}}"#, #"{"action":"pay","body":[1]}"#, #"{"action":"pay"}"#,
        #"{"action":"pay","body":null}"#, #"{"action":"pay","body":1}"#, #"{"action":"pay","body":"1"}"#,
        #"{"action":"pay","body":{}}"#, #"{"action":"pay","body":""}"#, #"{"action":"pay","body":"\u0031"}"#,
    ])
    func aDifferentNameOrBodyChangesTheHash(_ other: String) throws {
        #expect(try Self.content(other) != Self.content(#"{"action":"pay","body":{"amount":1}}"#))
        #expect(try Self.content(other) == Self.content(other))
    }

    @Test func nameAndBodyAreHashedSeparately() throws {
        #expect(
            try Self.content("b1", Self.route([], action: "a"), .text)
                != Self.content("1", Self.route([], action: "ab"), .text)
        )
    }

    @Test func textAndBytesAreHashedExactly() throws {
        for kind in [PayloadKind.text, .bytes] {
            let first = try Self.content("21.5", Self.route([("room", "7")]), kind)
            #expect(try Self.content("21.5", Self.route([("room", "7")]), kind) == first)
            #expect(try Self.content("21.5 ", Self.route([("room", "7")]), kind) != first)
            #expect(try Self.content("", Self.route([("room", "7")]), kind) != first)
        }
    }

    /// The bodies are an object, null, nothing, and the body within an envelope.
    @Test(arguments: [
        (#"{"on":true,"room":"x"}"#, ActionName?.some("set")), ("{}", "set"), ("null", "set"), ("", "set"),
        (#"{"action":"set","body":{"on":true}}"#, nil), (#"{"action":"set"}"#, nil),
    ])
    func capturesThatJoinTheBodyChangeTheHash(_ text: String, _ action: ActionName?) throws {
        func content(_ captures: [(String, String)]) throws -> UInt64 {
            try Self.content(text, Self.route(captures, action: action))
        }
        let first = try content([("room", "7"), ("floor", "1")])
        #expect(try content([("room", "7"), ("floor", "1")]) == first)
        #expect(try content([("floor", "1"), ("room", "7")]) == first)
        #expect(try content([("room", "8"), ("floor", "1")]) != first)
        #expect(try content([("room", "7"), ("level", "1")]) != first)
        #expect(try content([("room", "1"), ("floor", "7")]) != first)
        #expect(try content([("room", "7"), ("floor", "")]) != first)
        #expect(try content([("room", "7")]) != first)
        #expect(try content([]) != first)
        #expect(
            try Self.content(text, Self.route([("room", "7"), ("floor", "1")], action: action), behind: ["{}"]) == first
        )
    }

    @Test func capturesBesideANonObjectBodyAreNotHashed() throws {
        #expect(try Self.content("[1]", Self.route([("a", "1")])) == Self.content("[1]", Self.route([("a", "2")])))
    }

    @Test func theHashOfALinkCoversOnlyItsContent() throws {
        let first = try Self.content("myapp://open?a=1&b=2#top", Self.link([("a", "1"), ("b", "2")]))
        #expect(try Self.content("myapp://open?b=2&a=1", Self.link([("b", "2"), ("a", "1")])) == first)
        #expect(try Self.content("myapp://open?a=1", Self.link([("a", "1")])) != first)
        #expect(try Self.content("myapp://open", Self.link([])) == Self.content("myapp://open/", Self.link([])))
    }

    @Test func everyByteAndTheLengthChangeTheHash() {
        var seen: Set<UInt64> = []
        for count in 0...40 {
            var bytes = [UInt8](repeating: 0, count: count)
            seen.insert(bytes.withUnsafeBytes { Self.hash.value(of: $0) })
            for position in 0..<count {
                bytes[position] = 1
                seen.insert(bytes.withUnsafeBytes { Self.hash.value(of: $0) })
                bytes[position] = 0
            }
        }
        #expect(seen.count == 41 + 40 * 41 / 2)
    }

    @Test func hashesWithDifferentSeedsDiffer() {
        let values = (0..<100).map { _ in Array("id".utf8).withUnsafeBytes { SeededHash().value(of: $0) } }
        #expect(Set(values).count == 100)
    }
}
