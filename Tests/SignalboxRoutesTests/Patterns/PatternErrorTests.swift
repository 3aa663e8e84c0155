import SignalboxRoutes
import Testing

@Suite struct PatternErrorTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let pattern: String
        let reason: RoutePatternError.Reason
        let offset: Int

        init(_ pattern: String, _ reason: RoutePatternError.Reason, _ offset: Int) {
            self.pattern = pattern
            self.reason = reason
            self.offset = offset
        }

        var testDescription: String { pattern }
    }

    private func expectError(_ given: Case) {
        let error = #expect(throws: RoutePatternError.self) { try URLPattern(given.pattern) }
        #expect(error?.reason == given.reason)
        #expect(error?.offset == given.offset)
        #expect(error?.otherPattern == nil)
    }

    @Test(arguments: [
        Case("", .empty, 0),
        Case("product/{id}", .missingScheme, 0), Case("{scheme}://h", .missingScheme, 0),
        Case("?q={a}", .missingScheme, 0),
        Case("9app://h", .missingScheme, 0), Case("caf\u{E9}:x", .missingScheme, 0), Case("a/b:c", .missingScheme, 0),
        Case("/a b", .invalidCharacter, 2), Case("/a\n", .invalidCharacter, 2), Case("/a\u{7F}", .invalidCharacter, 2),
        Case("https://h\\a", .invalidCharacter, 9), Case("/a#top", .invalidCharacter, 2),
        Case(" /a", .invalidCharacter, 0),
        Case("/\u{E9}\u{0}", .invalidCharacter, 3),
    ])
    func aPatternBeginsWithASchemeOrASlash(given: Case) {
        expectError(given)
    }

    @Test(arguments: [
        Case("https:", .missingHost, 6), Case("https:/a", .missingHost, 6), Case("https:a", .missingHost, 6),
        Case("file:/a", .missingHost, 5), Case("https://", .missingHost, 8), Case("https:///a", .missingHost, 8),
        Case("https://{host}/a", .anyHost, 8), Case("HTTP://{host...}", .anyHost, 7),
        Case("file://{host}/a", .anyHost, 7),
        Case("wss://a{host}/a", .anyHost, 6), Case("https://{r...}", .anyHost, 8),
        Case("myapp://user@h/a", .invalidHost, 8), Case("https://user@h/a", .invalidHost, 12),
        Case("https://caf\u{E9}.example/", .invalidHost, 11),
        Case("https://h%2e/", .invalidHost, 9), Case("myapp://h%2F/", .invalidHost, 8),
        Case("https://*.example/", .invalidHost, 8), Case("myapp://:80/a", .invalidHost, 8),
        Case("https://1.2.3/", .invalidHost, 8),
        Case("https://h:x/", .invalidPort, 10), Case("https://h:65536/", .invalidPort, 10),
        Case("myapp://{h}:x/", .invalidPort, 12), Case("myapp://{h}:70000", .invalidPort, 12),
        Case("https://h:{port}/", .anyHost, 8), Case("myapp://h:{port}/", .captureNotAlone, 8),
        Case("myapp://{h}x/", .captureNotAlone, 8), Case("myapp://{h:int}/", .kindNotAllowed, 8),
        Case("myapp://{h:uuid}", .kindNotAllowed, 8), Case("myapp://{r...}:80", .restNotLast, 8),
    ])
    func aHostIsALiteralOrOneCapture(given: Case) {
        expectError(given)
    }

    @Test(arguments: [
        Case("//h/a", .emptySegment, 1), Case("/a//b", .emptySegment, 3), Case("/a//", .emptySegment, 3),
        Case("//", .emptySegment, 1), Case("myapp:////", .emptySegment, 9), Case("myapp:a//b", .emptySegment, 8),
        Case("/./a", .dotSegment, 1), Case("/a/..", .dotSegment, 3), Case("/a/%2e%2E", .dotSegment, 3),
        Case("/a/.%2e/b", .dotSegment, 3), Case("myapp:..", .dotSegment, 6),
        Case("/a/%", .invalidEscape, 3), Case("/a/%2", .invalidEscape, 3), Case("/a/%zz", .invalidEscape, 3),
        Case("/a/b%00", .invalidEscape, 4), Case("/a/%0a", .invalidEscape, 3), Case("/a/%FF", .invalidEscape, 3),
        Case("/a/%C3%28", .invalidEscape, 3),
    ])
    func aSegmentMustBeValidInAURL(given: Case) {
        expectError(given)
    }

    @Test(arguments: [
        Case("/a{b}", .captureNotAlone, 1), Case("/{b}c", .captureNotAlone, 1), Case("/{a}{b}", .captureNotAlone, 1),
        Case("/{", .captureNotAlone, 1), Case("/}", .captureNotAlone, 1), Case("/x/{a/b}", .captureNotAlone, 3),
        Case("/{{a}}", .captureNotAlone, 1), Case("/{a?b}", .captureNotAlone, 1),
        Case("/x/{}", .invalidCaptureName, 3), Case("/{...}", .invalidCaptureName, 1),
        Case("/{1a}", .invalidCaptureName, 1),
        Case("/{_a}", .invalidCaptureName, 1), Case("/{a-b}", .invalidCaptureName, 1),
        Case("/{a.b}", .invalidCaptureName, 1),
        Case("/{\u{E9}}", .invalidCaptureName, 1), Case("/{:int}", .invalidCaptureName, 1),
        Case("/{a:int...}", .invalidCaptureName, 1), Case("/{a....}", .invalidCaptureName, 1),
        Case("/{a:}", .unknownKind, 1), Case("/{a:Int}", .unknownKind, 1), Case("/{a:text}", .unknownKind, 1),
        Case("/{a:rest}", .unknownKind, 1), Case("/x/{a:float}", .unknownKind, 3),
        Case("/{a:int:int}", .unknownKind, 1),
        Case("/{a}/{b}/{a}", .duplicateCapture, 9), Case("myapp://{a}/{a:int}", .duplicateCapture, 12),
        Case("/{a}?q={a}", .duplicateCapture, 7), Case("/x?q={a}&r={a}", .duplicateCapture, 11),
        Case("/{r...}/b", .restNotLast, 1), Case("/{r...}/{s...}", .restNotLast, 1), Case("/{r...}//", .restNotLast, 1),
        Case("myapp://{r...}/a", .restNotLast, 8), Case("myapp:{r...}/a", .restNotLast, 6),
    ])
    func aCaptureFillsItsSegmentAndIsNamedOnce(given: Case) {
        expectError(given)
    }

    @Test(arguments: [
        Case("/a?", .invalidQuery, 3), Case("/a?q", .invalidQuery, 3), Case("/a?q=", .invalidQuery, 3),
        Case("/a?q=1", .invalidQuery, 3), Case("/a?={q}", .invalidQuery, 3), Case("/a?{q}", .invalidQuery, 3),
        Case("/a?q={a}&", .invalidQuery, 9), Case("/a?&q={a}", .invalidQuery, 3),
        Case("/a?q={a}&&r={b}", .invalidQuery, 9),
        Case("/a?q={a}?r={b}", .captureNotAlone, 5), Case("/a?q=x{a}", .captureNotAlone, 5),
        Case("/a?{q}={a}", .captureNotAlone, 3), Case("/a?q={1}", .invalidCaptureName, 5),
        Case("/a?q={a:int}", .kindNotAllowed, 5), Case("/a?q={a...}", .kindNotAllowed, 5),
        Case("/a?q={a}&%71={b}", .duplicateItem, 9), Case("/a?%zz={a}", .invalidEscape, 3),
        Case("/a?b%FF={a}", .invalidEscape, 3),
    ])
    func theQueryPartMapsItemsToCaptures(given: Case) {
        expectError(given)
    }

    @Test func theNumberOfCapturesIsLimited() throws {
        let count = URLPattern.maximumCaptures
        let most = (1..<count).map { "/{c\($0)}" }.joined() + "?q={c\(count)}"
        let names = try URLPattern(most).captureNames
        #expect(names == (1...count).map { "c\($0)" })
        expectError(Case(most + "&r={c0}", .tooManyCaptures, most.utf8.count + 3))
        let full = (1...count).map { "/{c\($0)}" }.joined()
        expectError(Case(full + "/{c0}", .tooManyCaptures, full.utf8.count + 1))
    }

    @Test func lengthsAreLimited() throws {
        let name = String(repeating: "n", count: 64)
        #expect(try URLPattern("/{\(name)}").captureNames == [name])
        expectError(Case("/{\(name)n}", .invalidCaptureName, 1))
        let longest = "/" + String(repeating: "\u{E9}", count: 2_047) + "a"
        #expect(try URLPattern(longest).text.utf8.count == URLPattern.maximumLength)
        expectError(Case(longest + "a", .tooLong, 4_096))
    }

    @Test func anErrorHasItsReasonAndPosition() {
        let error = #expect(throws: RoutePatternError.self) { try URLPattern("https://{site}/a") }
        #expect(error?.detail == "https needs a literal host: a capture would accept any site")
        #expect(error?.reason.description == "anyHost")
        #expect(
            error?.description
                == "anyHost at byte 8: https needs a literal host: a capture would accept any site"
        )
    }
}
