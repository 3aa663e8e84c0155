import SignalboxRoutes
import Testing

@Suite struct CaptureTests {
    @Test func integersConvertInOneFormOnly() {
        for item in CaptureScalarCases.integers {
            #expect(ScalarText.int64(item.text.utf8) == item.value, "\(item.text.debugDescription)")
            let captures = RouteCaptures([RouteCapture(name: "n", value: item.text)])
            #expect(captures.int("n") == item.value.map { Int($0) }, "\(item.text.debugDescription)")
        }
    }

    @Test func booleansConvertInOneFormOnly() {
        for item in CaptureScalarCases.booleans {
            let captures = RouteCaptures([RouteCapture(name: "b", value: item.text)])
            #expect(captures.bool("b") == item.value, "\(item.text.debugDescription)")
        }
    }

    @Test func anAbsentCaptureHasNoValue() {
        let captures = RouteCaptures([RouteCapture(name: "a", value: "7")])
        #expect(captures["b"] == nil && captures.int("b") == nil && captures.bool("b") == nil)
        #expect(captures["a"] == "7" && captures.int("a") == 7 && captures.bool("a") == nil)
        #expect(RouteCaptures().isEmpty && RouteCaptures()["a"] == nil)
    }

    /// The same rule decides in patterns of URLs and of topics whether a number is accepted.
    @Test func urlsAndTopicsAcceptTheSameNumbers() throws {
        let url = try URLPattern("myapp:{n:int}")
        let topic = try TopicPattern("{n:int}")
        for item in CaptureScalarCases.integers {
            #expect((topic.match(item.text) != nil) == (item.value != nil), "\(item.text.debugDescription)")
            guard let found = try? URLText("myapp:\(item.text)") else { continue }
            #expect((url.match(found) != nil) == (item.value != nil), "\(item.text.debugDescription)")
        }
    }

    @Test(arguments: [
        "621425B8-42D1-4AB4-9A58-1E69D708A84B", "621425b8-42d1-4ab4-9a58-1e69d708a84b",
        "00000000-0000-0000-0000-000000000000", "ffffffff-FFFF-ffff-FFFF-ffffffffffff",
    ])
    func aUUIDHasFiveGroupsInEitherCase(text: String) throws {
        let captures = try URLPattern("myapp://user/{id:uuid}").match(URLText("myapp://user/\(text)"))
        #expect(captures == RouteCaptures([RouteCapture(name: "id", value: text, kind: .uuid)]))
        #expect(try TopicPattern("user/{id:uuid}").match("user/\(text)")?["id"] == text)
    }

    @Test(arguments: [
        "621425B842D14AB49A581E69D708A84B", "{621425B8-42D1-4AB4-9A58-1E69D708A84B}",
        "621425B8-42D1-4AB4-9A58-1E69D708A84",
        "621425B8-42D1-4AB4-9A58-1E69D708A84BC", "G21425B8-42D1-4AB4-9A58-1E69D708A84B",
        "621425B8_42D1_4AB4_9A58_1E69D708A84B", "621425B842-D1-4AB4-9A58-1E69D708A84B", "",
        "urn:uuid:621425B8-42D1-4AB4-9A58-1E69D708A84B", "621425B8-42D1-4AB4-9A58-1E69D708A84\u{FF22}", "-",
    ])
    func otherUUIDFormsDoNotMatch(text: String) throws {
        #expect(try TopicPattern("user/{id:uuid}").match("user/\(text)") == nil)
    }

    @Test func capturesAreComparedByBytes() {
        let composed = RouteCapture(name: "a", value: "caf\u{E9}")
        let decomposed = RouteCapture(name: "a", value: "cafe\u{301}")
        #expect(composed != decomposed && Set([composed, decomposed, composed]).count == 2)
        #expect(RouteCapture(name: "a", value: "1", kind: .int) != RouteCapture(name: "a", value: "1"))
    }

    @Test func captureKindsHaveNames() {
        #expect([CaptureKind.text, .int, .uuid, .rest].map(\.description) == ["text", "int", "uuid", "rest"])
    }
}

/// Texts of routes, with their values as numbers and Booleans. Every reader of such text must agree.
///
/// The type depends on no module, so that other test targets can include it.
enum CaptureScalarCases {
    struct Integer: Sendable {
        let text: String
        /// The value, or `nil` if the text is not a signed 64-bit integer.
        let value: Int64?

        init(_ text: String, _ value: Int64?) {
            self.text = text
            self.value = value
        }
    }

    struct Boolean: Sendable {
        let text: String
        let value: Bool?

        init(_ text: String, _ value: Bool?) {
            self.text = text
            self.value = value
        }
    }

    static let integers: [Integer] = [
        Integer("0", 0), Integer("-0", 0), Integer("1", 1), Integer("-1", -1), Integer("10", 10), Integer("42", 42),
        Integer("9007199254740993", 9_007_199_254_740_993),
        Integer("999999999999999999", 999_999_999_999_999_999),
        Integer("1000000000000000000", 1_000_000_000_000_000_000),
        Integer("9223372036854775807", .max), Integer("-9223372036854775808", .min),
        Integer("9223372036854775808", nil), Integer("-9223372036854775809", nil),
        Integer("18446744073709551615", nil), Integer("18446744073709551616", nil),
        Integer("99999999999999999999", nil), Integer("-99999999999999999999", nil),
        Integer("100000000000000000000000000000000000000000", nil),
        Integer("", nil), Integer("-", nil), Integer("+1", nil), Integer("+0", nil), Integer("--1", nil),
        Integer("00", nil), Integer("01", nil), Integer("-01", nil), Integer("-00", nil), Integer("007", nil),
        Integer("1.0", nil), Integer("1.", nil), Integer(".5", nil), Integer("1e2", nil), Integer("1E0", nil),
        Integer("0x1", nil), Integer("0b1", nil), Integer("1_000", nil), Integer("1,000", nil), Integer("1a", nil),
        Integer("a1", nil), Integer(" 1", nil), Integer("1 ", nil), Integer("1\n", nil), Integer("\t1", nil),
        Integer("1\u{0}", nil), Integer("\u{FEFF}1", nil), Integer("1\u{301}", nil),
        Integer("\u{661}", nil), Integer("\u{FF11}", nil), Integer("\u{2212}1", nil), Integer("\u{B2}", nil),
        Integer("NaN", nil), Integer("Infinity", nil), Integer("true", nil), Integer("null", nil),
    ]

    static let booleans: [Boolean] = [
        Boolean("true", true), Boolean("false", false),
        Boolean("", nil), Boolean("True", nil), Boolean("TRUE", nil), Boolean("False", nil), Boolean("FALSE", nil),
        Boolean("1", nil), Boolean("0", nil), Boolean("yes", nil), Boolean("no", nil), Boolean("on", nil),
        Boolean("off", nil), Boolean("t", nil), Boolean("tru", nil), Boolean("truee", nil), Boolean(" true", nil),
        Boolean("true ", nil), Boolean("true\n", nil), Boolean("true\u{0}", nil), Boolean("\u{FEFF}true", nil),
        Boolean("tru\u{65}\u{301}", nil), Boolean("null", nil),
    ]
}

@Suite struct PatternQueryTests {
    private func values(_ pattern: String, _ url: String) throws -> [String] {
        try URLPattern(pattern).queryValues(of: URLText(url)).map { "\($0.name)=\($0.value)" }
    }

    @Test func itemsAreReturnedInTheOrderOfThePattern() throws {
        #expect(try values("/s?q={term}&page={n}", "myapp:/s?x=1&page=2&q=a") == ["term=a", "n=2"])
        #expect(try values("/s?q={term}&page={n}", "myapp:/s?page=2") == ["n=2"])
        #expect(try values("/s?q={term}", "myapp:/s") == [])
        #expect(try values("/s?q={term}", "myapp:/s?") == [])
        #expect(try values("/s?q={term}", "myapp:/s?Q=1") == [])
        #expect(try values("/s?q={term}", "myapp:/s?q") == ["term="])
        #expect(try values("myapp:s?q={term}", "myapp:s?q=1#q=2") == ["term=1"])
    }

    @Test func valuesAreDecodedOnce() throws {
        #expect(try values("/s?q={term}", "myapp:/s?%71=a%2Bb+c%2520%26d%3D") == ["term=a+b c%20&d="])
        #expect(try values("/s?caf%C3%A9={term}", "myapp:/s?caf%C3%A9=1") == ["term=1"])
        #expect(try values("/s?caf\u{E9}={term}", "myapp:/s?cafe%CC%81=1") == ["term=1"])
    }

    @Test func theQueryDoesNotAffectMatching() throws {
        let pattern = try URLPattern("/s/{id}?q={term}")
        for query in ["", "?", "?q=1", "?q=1&q=2", "?q=%zz", "?other"] {
            #expect(try pattern.match(URLText("myapp:/s/7" + query))?.map(\.name) == ["id"])
        }
    }

    @Test func aDuplicateNamedItemIsRefusedAtItsSecondOccurrence() throws {
        let pattern = try URLPattern("/s?q={term}&caf\u{E9}={n}")
        let url = try URLText("myapp:/s?&a=1&&q=1&a=2&&q=1&q=3")
        let error = #expect(throws: URLTextError.self) { try pattern.queryValues(of: url) }
        #expect(error?.reason == .duplicateItem)
        #expect(error?.offset == 24)
        #expect(url.text.utf8.dropFirst(24).starts(with: "q=1&q=3".utf8))
        let composed = try URLText("myapp:/s?cafe%CC%81=1&caf%C3%A9=2")
        let twice = #expect(throws: URLTextError.self) { try pattern.queryValues(of: composed) }
        #expect(twice?.reason == .duplicateItem)
    }

    @Test func anUnlistedItemMayOccurTwice() throws {
        #expect(try values("/s?q={term}", "myapp:/s?a=1&a=2&q=3") == ["term=3"])
    }

    @Test func anUnreadableItemIsRefusedOnlyIfThePatternNamesIt() throws {
        let url = try URLText("myapp:/s?a=%zz&%E9=1&q=3")
        #expect(try URLPattern("/s").queryValues(of: url).isEmpty)
        #expect(try values("/s?q={term}", "myapp:/s?a=%zz&%E9=1&q=3") == ["term=3"])
        let error = #expect(throws: URLTextError.self) { try URLPattern("/s?a={term}").queryValues(of: url) }
        #expect(error?.reason == .invalidEscape)
        let many = try URLText("myapp:/s?" + Array(repeating: "a=1", count: 257).joined(separator: "&"))
        #expect(throws: URLTextError.self) { try URLPattern("/s?q={term}").queryValues(of: many) }
    }
}

/// Escapes are decoded once, and decoded text never becomes syntax.
@Suite struct PatternEncodingTests {
    private func found(_ pattern: String, _ url: String) throws -> [String]? {
        try URLPattern(pattern).match(URLText(url))?.map { "\($0.name)=\($0.value)" }
    }

    @Test func anEscapedSlashBelongsToItsSegment() throws {
        #expect(try found("/a/{x}", "myapp:/a/b%2Fc") == ["x=b/c"])
        #expect(try found("/a/{x}/{y}", "myapp:/a/b%2Fc") == nil)
        #expect(try found("/a/b/c", "myapp:/a/b%2Fc") == nil)
        #expect(try found("/a/b%2fc", "myapp:/a/b%2Fc") == [])
        #expect(try found("/a/b%2Fc", "myapp:/a/b/c") == nil)
        #expect(try found("myapp:{x}", "myapp:a%2fb") == ["x=a/b"])
    }

    @Test func aRestCaptureNeverContainsAnEscapedSlash() throws {
        #expect(try found("/a/{r...}", "myapp:/a/b%2Fc") == nil)
        #expect(try found("/a/{r...}", "myapp:/a/b/%2f") == nil)
        #expect(try found("/a%2Fb/{r...}", "myapp:/a%2Fb/c/d") == ["r=c/d"])
        #expect(try found("/{x}/{r...}", "myapp:/a%2Fb/c") == ["x=a/b", "r=c"])
        #expect(try found("myapp://{r...}", "myapp://h/b%2Fc") == nil)
        #expect(try found("myapp:{r...}", "myapp:a%2Fb") == nil)
    }

    @Test func doubleEscapesAreDecodedOnce() throws {
        #expect(try found("/{x}", "myapp:/%252e%252e") == ["x=%2e%2e"])
        #expect(try found("/{x}", "myapp:/%252F") == ["x=%2F"])
        #expect(try found("/{r...}", "myapp:/a/%252e%252e%252fb") == ["r=a/%2e%2e%2fb"])
        #expect(try found("/%2541", "myapp:/%2541") == [])
        #expect(try found("/%2541", "myapp:/%41") == nil)
        #expect(try found("/{n:int}", "myapp:/%2534") == nil)
    }

    @Test func escapedLettersMatchPlainLetters() throws {
        #expect(try found("/product", "myapp:/%70roduct") == [])
        #expect(try found("/%70roduct", "myapp:/product") == [])
        #expect(try found("/a%20b/%7Bx%7D", "myapp:/a%20b/%7bx%7d") == [])
        #expect(try found("/a+b", "myapp:/a+b") == [] && found("/a+b", "myapp:/a%20b") == nil)
        #expect(try found("/{x}", "myapp:/a+b") == ["x=a+b"])
        #expect(try found("/a", "myapp:/a%3Fq=1") == nil)
        #expect(try found("/{x}", "myapp:/a%3Fq=1%23b") == ["x=a?q=1#b"])
    }

    @Test func dotSegmentsAreResolvedBeforeMatching() throws {
        #expect(try found("/public/{r...}", "myapp:/public/../secret") == nil)
        #expect(try found("/secret", "myapp:/public/../secret") == [])
        for url in ["myapp:/public/%2e%2e/secret", "myapp:public/../secret", "myapp:/public/%00"] {
            #expect(throws: URLTextError.self) { try URLText(url) }
        }
    }

    @Test func lettersAreComparedByBytes() throws {
        #expect(try found("/caf\u{E9}", "myapp:/caf\u{E9}") == [])
        #expect(try found("/caf\u{E9}", "myapp:/caf%C3%A9") == [])
        #expect(try found("/caf%c3%a9", "myapp:/caf\u{E9}") == [])
        #expect(try found("/caf\u{E9}", "myapp:/cafe\u{301}") == nil)
        #expect(try found("/caf\u{E9}", "myapp:/CAF\u{C9}") == nil)
        #expect(try found("/\u{65E5}\u{672C}/{x}", "myapp:/%E6%97%A5%E6%9C%AC/\u{1F6A6}") == ["x=\u{1F6A6}"])
        #expect(try found("/a/{x}", "myapp:/a/\u{301}") == ["x=\u{301}"])
        #expect(try found("/\u{212A}", "myapp:/K") == nil)
    }

    @Test func tablesDistinguishCanonicallyEquivalentTexts() throws {
        let table = try RouteTable([
            (URLPattern("/caf\u{E9}"), "composed"), (URLPattern("/cafe\u{301}"), "decomposed"),
            (URLPattern("/{x}"), "any"),
        ])
        #expect(try table.match(URLText("myapp:/caf%C3%A9"))?.value == "composed")
        #expect(try table.match(URLText("myapp:/cafe%CC%81"))?.value == "decomposed")
        #expect(try table.match(URLText("myapp:/cafe"))?.value == "any")
    }
}
