import SignalboxCore
import SignalboxRoutes
import Testing

/// Patterns and bodies read text of a URL by one rule, which each module has for itself.
@Suite struct ScalarAgreementTests {
    private static let signs = ["", "-", "+", " "]
    private static let numbers = [
        "0", "00", "01", "1", "42", "042", "9223372036854775807", "9223372036854775808", "-0", "1.0", "1e2", "0x1",
        "1_000", "",
        "99999999999999999999999999", "\u{661}", "1 ", "١٢", "true", "false", "True", "TRUE", "yes", "on", "null",
        "NaN",
    ]

    static let texts = signs.flatMap { sign in numbers.map { sign + $0 } }

    @Test(arguments: texts) func aNumberIsOneToBothOrToNeither(_ text: String) throws {
        let body = try body(of: text)
        #expect((try? body.decode(Holder<Int64>.self))?.value == ScalarText.int64(text.utf8))
        #expect((try? body.decode(Holder<Bool>.self))?.value == ScalarText.bool(text.utf8))
    }

    private struct Holder<Value: Decodable & Sendable>: Decodable, Sendable {
        let value: Value
    }

    private func body(of text: String) throws -> Body {
        var batch = ArrivalBatch(pool: ArrivalPool())
        let naming = RouteNaming(action: "try", captures: [RouteNaming.Capture(name: "value", value: text)])
        batch.append(
            UnsafeRawBufferPointer(start: nil, count: 0),
            token: 0,
            origin: Origin(source: "test", facts: TestFacts()),
            receivedAt: WallTime(seconds: 0),
            envelope: .route(naming)
        )
        let arrival = try #require(batch.take().first)
        return try arrival.reading.get().body
    }

    private struct TestFacts: OriginFacts {
        static let kind = "test"
    }
}
