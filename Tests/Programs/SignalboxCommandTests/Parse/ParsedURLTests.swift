import AppScheme
import Foundation
import SignalboxCore
import SignalboxRoutes
import Testing

@testable import SignalboxCommand

@Suite struct ParsedURLTests {
    private static func parsed(_ text: String, base: String? = nil, routes: AppRoutes? = nil) throws -> ParsedURL {
        ParsedURL(InputLine(Array(text.utf8)), base: try base.map { try URLText($0) }, routes: routes)
    }

    private static func line(_ parsed: ParsedURL) -> String {
        String(decoding: parsed.jsonLine.dropLast(), as: UTF8.self)
    }

    @Test(arguments: [
        (
            "HTTPS://Shop.Example:8443/a/../b%2Fc/?q=red+shoes&empty&=x#top",
            #"{"url":"https://shop.example:8443/b%2Fc/?q=red+shoes&empty&=x#top","scheme":"https","host":"shop.example","#
                + #""port":8443,"path":"/b%2Fc/","segments":["b/c",""],"query":[{"name":"q","value":"red shoes"},"#
                + #"{"name":"empty","value":""},{"name":"","value":"x"}],"fragment":"top","#
                + #""origin":"https://shop.example:8443"}"#
        ),
        (
            "myapp:product/42",
            #"{"url":"myapp:product/42","scheme":"myapp","path":"product/42","segments":["product","42"]}"#
        ),
        ("myapp:///", #"{"url":"myapp:///","scheme":"myapp","host":"","path":"/","segments":[""]}"#),
        ("myapp://x?", #"{"url":"myapp://x?","scheme":"myapp","host":"x","path":"","segments":[],"query":[]}"#),
    ])
    func aURLIsShownWithThePartsItHas(_ text: String, _ expected: String) throws {
        let parsed = try ParsedURLTests.parsed(text)
        #expect(parsed.isGood)
        #expect(ParsedURLTests.line(parsed) == expected)
    }

    @Test func aURLThatIsRefusedSaysWhyAndWhere() throws {
        let parsed = try ParsedURLTests.parsed("https:\\\\evil\u{1}")
        #expect(!parsed.isGood)
        let expected =
            #"{"input":"https:\\\\evil\u0001","error":{"reason":"controlCharacter","offset":12,"#
            + #""detail":"the byte 1 must be escaped"}}"#
        #expect(ParsedURLTests.line(parsed) == expected)
    }

    @Test func aQueryThatCannotBeReadIsAnErrorBesideTheOtherParts() throws {
        let parsed = try ParsedURLTests.parsed("https://a.example/x?q=%zz")
        #expect(!parsed.isGood)
        let expected =
            #"{"url":"https://a.example/x?q=%zz","scheme":"https","host":"a.example","path":"/x","segments":["x"],"#
            + #""origin":"https://a.example","error":{"reason":"invalidEscape","offset":22,"#
            + #""detail":"two hexadecimal digits expected behind %"}}"#
        #expect(ParsedURLTests.line(parsed) == expected)
    }

    @Test func aLineThatIsNotUTF8IsBase64() {
        let parsed = ParsedURL(InputLine([0x61, 0x3A, 0xFF]), base: nil, routes: nil)
        #expect(
            ParsedURLTests.line(parsed)
                == #"{"input":"YTr/","inputEncoding":"base64","error":{"reason":"notUTF8","offset":2,"detail":"the line is not UTF-8"}}"#
        )
    }

    @Test func aLineThatWasCutSaysSo() {
        let parsed = ParsedURL(InputLine(Array("myapp:".utf8), isCut: true), base: nil, routes: nil)
        #expect(
            ParsedURLTests.line(parsed)
                == #"{"input":"myapp:","inputCut":true,"error":{"reason":"tooLong","offset":6,"detail":"at most 6 bytes expected"}}"#
        )
    }

    @Test func aRelativeURLIsResolvedAgainstTheBase() throws {
        let base = "https://shop.example/a/b?c"
        #expect(
            ParsedURLTests.line(try ParsedURLTests.parsed("../x", base: base)).hasPrefix(
                #"{"url":"https://shop.example/x""#
            )
        )
        #expect(
            ParsedURLTests.line(try ParsedURLTests.parsed("//evil.example/", base: base)).contains(
                #""host":"evil.example""#
            )
        )
        #expect(!(try ParsedURLTests.parsed("../x").isGood))
    }

    private static func routes(fallback: Bool = false) throws -> AppRoutes {
        try AppRoutes(
            [
                AppRoute(URLPattern("myapp://product/{number:int}"), action: "open"),
                AppRoute(URLPattern("myapp://do/{action}/{id}")),
                AppRoute(URLPattern("myapp://login/{token}"), action: "login", once: true),
            ],
            fallback: fallback ? "unknown" : nil
        )
    }

    @Test(arguments: [
        (
            "myapp://product/42?a=b",
            #""route":"myapp://product/{number:int}","action":"open","body":{"number":"42","a":"b"}}"#
        ),
        ("myapp://do/dance/7", #""route":"myapp://do/{action}/{id}","action":"dance","id":"7","body":{}}"#),
    ])
    func withRoutesItSaysWhatWouldBeCalled(_ text: String, _ end: String) throws {
        let parsed = try ParsedURLTests.parsed(text, routes: ParsedURLTests.routes())
        #expect(parsed.isGood)
        #expect(ParsedURLTests.line(parsed).hasSuffix(end), "\(ParsedURLTests.line(parsed))")
    }

    @Test func theIDOfALinkThatCountsOnceDoesNotTellIt() throws {
        let line = ParsedURLTests.line(
            try ParsedURLTests.parsed("myapp://login/canary", routes: ParsedURLTests.routes())
        )
        let id = try #require(line.components(separatedBy: #""id":""#).last?.prefix { $0 != "\"" })
        #expect(id.hasPrefix("link-") && !id.contains("canary"))
    }

    @Test(arguments: [
        ("myapp://cart", #""rejected":{"reason":"unknownAction","detail":"no route matches this link"#),
        (
            "myapp://do/not%20a%20name/7",
            #""route":"myapp://do/{action}/{id}","rejected":{"reason":"malformed","detail":"the link's"#
        ),
        ("myapp://u@x", #""rejected":{"reason":"malformed","detail":"the link cannot be read: userinfo at byte 9"#),
    ])
    func whatHasNoRouteIsRejected(_ text: String, _ words: String) throws {
        let parsed = try ParsedURLTests.parsed(text, routes: ParsedURLTests.routes())
        #expect(!parsed.isGood)
        #expect(ParsedURLTests.line(parsed).contains(words), "\(ParsedURLTests.line(parsed))")
    }

    @Test func theFallbackIsAnAction() throws {
        let parsed = try ParsedURLTests.parsed("myapp://cart", routes: ParsedURLTests.routes(fallback: true))
        #expect(parsed.isGood)
        #expect(ParsedURLTests.line(parsed).hasSuffix(#""action":"unknown","body":{"url":"myapp://cart"}}"#))
    }

    @Test(arguments: NaughtyText.all) func anyTextStaysOneLine(_ text: String) throws {
        for given in [text, "https://a.example/\(text)?\(text)#\(text)"] {
            let parsed = try ParsedURLTests.parsed(given, routes: ParsedURLTests.routes())
            for line in [parsed.jsonLine, parsed.terminalLine] {
                let shown = String(decoding: line.dropLast(), as: UTF8.self)
                #expect(!shown.unicodeScalars.contains { LineEscape.isUnsafe($0) })
            }
            #expect(try JSONSerialization.jsonObject(with: Data(parsed.jsonLine)) is [String: Any])
        }
    }

    @Test func aPersonGetsColumns() throws {
        let found = try ParsedURLTests.parsed("myapp://product/42", routes: ParsedURLTests.routes())
        let columns = String(decoding: found.terminalLine, as: UTF8.self).split(
            separator: "  ",
            omittingEmptySubsequences: true
        )
        #expect(
            columns.map { $0.trimmingCharacters(in: .whitespacesAndNewlines) }.filter { !$0.isEmpty } == [
                "myapp://product/42", "product", "42", #"-> open {"number":"42"}"#,
            ]
        )
        let refused = try ParsedURLTests.parsed("myapp://u@x")
        #expect(String(decoding: refused.terminalLine, as: UTF8.self).contains("refused: userinfo at byte 9"))
    }
}
