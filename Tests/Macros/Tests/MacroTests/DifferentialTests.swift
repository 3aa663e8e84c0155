import MainActorShapes
import SignalboxCore
import Testing

/// Decodes the same bodies with synthesized conformance and with the macro. Values and errors must be equal, with the paths,
/// offsets and texts of the errors.
@Suite struct DifferentialTests {
    /// How many readings were compared, and how they ended.
    private struct Tally {
        var values = 0
        var errors = 0

        mutating func compare(_ pair: ShapePair, _ body: Body, _ text: String) {
            let expected = pair.synthesized(body)
            #expect(pair.macro(body) == expected, "\(text)")
            if case .value = expected { values += 1 } else { errors += 1 }
        }

        mutating func compare(_ pair: ShapePair, _ value: JSONValue) throws {
            compare(pair, try Body(json: Bytes(value.text)), value.text)
        }
    }

    /// Whether the struct decodes from any value, because it has no members.
    private static func acceptsAll(_ pair: ShapePair) -> Bool {
        ["Empty", "Keyless"].contains(pair.testDescription)
    }

    @Test(arguments: ShapePair.all)
    func validBodiesDecode(_ pair: ShapePair) throws {
        var tally = Tally()
        try tally.compare(pair, pair.valid)
        #expect(tally.values == 1)
    }

    @Test(arguments: ShapePair.all)
    func eachPartMayBeAbsentOrAnything(_ pair: ShapePair) throws {
        var tally = Tally()
        for variant in pair.valid.variants() { try tally.compare(pair, variant) }
        for name in pair.valid.names {
            for other in pair.valid.names {
                try tally.compare(pair, pair.valid.setting(name, to: "null").setting(other, to: nil))
                try tally.compare(pair, pair.valid.setting(name, to: #""a""#).setting(other, to: [:]))
            }
        }
        #expect(tally.errors > 30 || Self.acceptsAll(pair))
    }

    @Test(arguments: ShapePair.all)
    func textOfARouteConverts(_ pair: ShapePair) throws {
        var tally = Tally()
        for name in pair.valid.names + ["other"] {
            for text in [
                "", "1", "-1", "256", "1.5", "1e400", "true", "low", "ab", "abc", "null", "99999999999999999999",
            ] {
                for base in [pair.valid, [:]] as [JSONValue] {
                    let body = try Self.body(base.text, capturing: name, text)
                    tally.compare(pair, body, "\(name)=\(text) in \(base.text)")
                }
            }
        }
        #expect(tally.errors > 10 || Self.acceptsAll(pair))
    }

    @Test(arguments: ShapePair.all)
    func changedBodiesHaveTheSameResult(_ pair: ShapePair) throws {
        var tally = Tally()
        for seed in 0..<3_000 as Range<UInt64> {
            var random = SplitMix64(state: seed)
            var value = pair.valid
            for _ in 0..<Int.random(in: 1...3, using: &random) { value = value.mutated(using: &random) }
            try tally.compare(pair, value)
        }
        #expect(tally.values > 100)
        #expect(tally.errors > 100 || Self.acceptsAll(pair))
    }

    @Test func aModuleWithMainActorIsolationDecodesAnywhere() throws {
        let body = try Body(json: Bytes(#"{"amount":3,"goods":[{"name":"a"}]}"#))
        #expect(try amount(of: body) == 3)
    }

    /// The body of a message whose route captured one text.
    private static func body(_ json: String, capturing name: String, _ text: String) throws -> Body {
        let naming = RouteNaming(action: "test", captures: [RouteNaming.Capture(name: name, value: text)])
        var batch = ArrivalBatch(pool: ArrivalPool())
        Array(json.utf8).withUnsafeBytes { bytes in
            batch.append(
                bytes,
                token: 0,
                origin: Origin(source: "test", facts: NoFacts()),
                receivedAt: WallTime(seconds: 0),
                envelope: .route(naming)
            )
        }
        let arrival = try #require(batch.take().first)
        return try arrival.reading.get().body
    }
}

private struct NoFacts: OriginFacts {
    static let kind = "test"
}
