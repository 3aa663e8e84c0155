import SignalboxRoutes
import TestSupport
import Testing

/// Matches and their captures, as `name=value` from left to right.
@Suite struct PatternTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let pattern, url: String
        let captures: [String]?

        init(_ pattern: String, _ url: String, _ captures: [String]?) {
            self.pattern = pattern
            self.url = url
            self.captures = captures
        }

        var testDescription: String { "\(pattern) on \(url)" }
    }

    private func check(_ given: Case) throws {
        let pattern = try URLPattern(given.pattern)
        let found = pattern.match(try URLText(given.url))
        #expect(found?.map { "\($0.name)=\($0.value)" } == given.captures)
        #expect(try RouteTable([(pattern, 0)]).match(URLText(given.url))?.captures == found)
    }

    @Test(arguments: [
        Case("myapp://product", "myapp://product", []),
        Case("myapp://product", "MyApp://product", []),
        Case("MyApp://product", "myapp://product", []),
        Case("myapp://product/42", "myapp://product/42", []),
        Case("myapp://Product/42", "myapp://pRODUCT/42", []),
        Case("myapp://product/42", "myapp://product/43", nil),
        Case("myapp://product/Card", "myapp://product/card", nil),
        Case("myapp://product", "yourapp://product", nil),
        Case("myapp://product", "myapp://products", nil),
        Case("myapp://product/42", "myapp://product", nil),
        Case("myapp://product", "myapp://product/42", nil),
        Case("myapp://product/{id}", "myapp://product/42?q=1#top", ["id=42"]),
        Case("myapp://product/{id}", "myapp://product/a%20b", ["id=a b"]),
        Case("myapp://product/{id}", "myapp://product//", nil),
        Case("myapp://{host}/{id}", "MyApp://Product/42", ["host=Product", "id=42"]),
        Case("myapp://{host}", "myapp:///", nil),
        Case("myapp://{host}:8080/{id}", "myapp://h:8080/1", ["host=h", "id=1"]),
        Case("myapp://{host}:8080/{id}", "myapp://h/1", nil),
        Case("https://shop.example/{id:int}", "https://SHOP.example:443/7", ["id=7"]),
        Case("https://SHOP.example:443/{id:int}", "https://shop.example/7", ["id=7"]),
        Case("https://shop.example/{id}", "https://shop.example:8443/7", nil),
        Case("https://shop.example:8443/{id}", "https://shop.example:8443/7", ["id=7"]),
        Case("https://shop.example:8443/{id}", "https://shop.example/7", nil),
        Case("https://shop.example/", "http://shop.example/", nil),
        Case("https://shop.example", "https://shop.example.evil.example/", nil),
        Case("https://shop.example", "https://a.shop.example/", nil),
        Case("https://[2001:DB8::1]/{id}", "https://[2001:db8:0::1]/7", ["id=7"]),
        Case("myapp://h:80/a", "myapp://h:80/a", []),
        Case("myapp://h:80/a", "myapp://h/a", nil),
        Case("file:///etc/{name}", "file:///etc/hosts", ["name=hosts"]),
        Case("file:///etc/{name}", "file://server/etc/hosts", nil),
    ])
    func hostsMatchCaseInsensitivelyAndSegmentsByBytes(given: Case) throws {
        try check(given)
    }

    /// A scheme without `//`, with an empty host, and with a host are three different forms.
    @Test(arguments: [
        Case("myapp://product/{id}", "myapp://product/42", ["id=42"]),
        Case("myapp://product/{id}", "MyApp://product/42", ["id=42"]),
        Case("myapp://product/{id}", "myapp:///product/42", nil),
        Case("myapp://product/{id}", "myapp:/product/42", nil),
        Case("myapp://product/{id}", "myapp:product/42", nil),
        Case("myapp:///product/{id}", "myapp:///product/42", ["id=42"]),
        Case("myapp:///product/{id}", "myapp://product/42", nil),
        Case("myapp:///product/{id}", "myapp:/product/42", nil),
        Case("myapp:///product/{id}", "myapp:product/42", nil),
        Case("myapp:/product/{id}", "myapp:/product/42", ["id=42"]),
        Case("myapp:/product/{id}", "myapp:///product/42", nil),
        Case("myapp:/product/{id}", "myapp:product/42", nil),
        Case("myapp:product/{id}", "myapp:product/42", ["id=42"]),
        Case("myapp:product/{id}", "myapp:product/42?q=1#top", ["id=42"]),
        Case("myapp:product/{id}", "myapp://product/42", nil),
        Case("myapp:product/{id}", "myapp:///product/42", nil),
        Case("myapp:product/{id}", "myapp:/product/42", nil),
        Case("/product/{id}", "myapp:///product/42", ["id=42"]),
        Case("/product/{id}", "myapp:/product/42", ["id=42"]),
        Case("/product/{id}", "myapp://any/product/42", ["id=42"]),
        Case("/product/{id}", "https://any.example:8443/product/42", ["id=42"]),
        Case("/product/{id}", "myapp://product/42", nil),
        Case("/product/{id}", "myapp:product/42", nil),
    ])
    func aPatternMatchesOnlyURLsOfItsForm(given: Case) throws {
        try check(given)
    }

    @Test(arguments: [
        Case("myapp://h/", "myapp://h", []), Case("myapp://h", "myapp://h/", []),
        Case("/a/", "myapp://h/a", []), Case("/a", "myapp://h/a/", []), Case("/a", "myapp://h/a//", nil),
        Case("/", "https://h.example", []), Case("/", "myapp:/", []), Case("/", "myapp://h//", nil),
        Case("/a/b", "myapp://h/a//b", nil), Case("/{x}/b", "myapp://h//b", nil),
        Case("myapp://", "myapp:///", []), Case("myapp:///", "myapp://", []), Case("myapp:", "myapp:", []),
        Case("myapp:", "myapp:?q=1", []), Case("myapp:", "myapp:a", nil), Case("myapp:/", "myapp:/", []),
        Case("myapp:a/", "myapp:a", []), Case("myapp:a", "myapp:a/", []),
    ])
    func oneTrailingSlashIsIgnored(given: Case) throws {
        try check(given)
    }

    @Test(arguments: [
        Case("/a/{r...}", "myapp://h/a", ["r="]), Case("/a/{r...}", "myapp://h/a/", ["r="]),
        Case("/a/{r...}", "myapp://h/a//", ["r="]), Case("/a/{r...}", "myapp://h/a/b", ["r=b"]),
        Case("/a/{r...}", "myapp://h/a/b/", ["r=b"]), Case("/a/{r...}", "myapp://h/a/b//", ["r=b/"]),
        Case("/a/{r...}", "myapp://h/a//b", ["r=/b"]), Case("/a/{r...}", "myapp://h/a/b/c%20d", ["r=b/c d"]),
        Case("/a/{r...}", "myapp://h/ab", nil), Case("/a/{r...}", "myapp://h/b/a", nil),
        Case("/{r...}", "myapp:/", ["r="]), Case("/{r...}/", "myapp:/x", ["r=x"]), Case("/{r...}", "myapp:x", nil),
        Case("/{x}/{r...}", "myapp:/", nil), Case("/{x}/{r...}", "myapp:/1/2/3", ["x=1", "r=2/3"]),
        Case("myapp:{r...}", "myapp:a/b", ["r=a/b"]), Case("myapp:{r...}", "myapp:", ["r="]),
        Case("myapp:{r...}", "myapp:/a/b", nil),
        Case("myapp://{r...}", "myapp://Host/a/b", ["r=Host/a/b"]), Case("myapp://{r...}", "myapp://Host/", ["r=Host"]),
        Case("myapp://{r...}/", "myapp://h/a", ["r=h/a"]), Case("myapp://{r...}", "myapp:///a/b", nil),
        Case("myapp://{r...}", "myapp://h:8080/a", nil), Case("myapp:///{r...}", "myapp:///a/b", ["r=a/b"]),
    ])
    func aRestCaptureMatchesZeroOrMoreSegments(given: Case) throws {
        try check(given)
    }

    @Test(arguments: [
        Case("/{n:int}", "myapp:/42", ["n=42"]), Case("/{n:int}", "myapp:/-0", ["n=-0"]),
        Case("/{n:int}", "myapp:/%34%32", ["n=42"]), Case("/{n:int}", "myapp:/4%202", nil),
        Case("/{n:int}", "myapp:/042", nil), Case("/{n:int}", "myapp:/9223372036854775808", nil),
        Case("/{n:uuid}", "myapp:/42", nil),
    ])
    func aCaptureKindRestrictsTheMatch(given: Case) throws {
        try check(given)
    }

    @Test func aPatternReportsItsNamesAndParts() throws {
        let pattern = try URLPattern("MyApp://{host}/{id:int}/{rest...}?q={term}&p%61ge+no={page}")
        #expect(pattern.captureNames == ["host", "id", "rest", "term", "page"])
        #expect(pattern.queryCaptures.map(\.item) == ["q", "page no"])
        #expect(pattern.queryCaptures.map(\.name) == ["term", "page"])
        #expect(pattern.scheme == "myapp")
        #expect(pattern.description == "MyApp://{host}/{id:int}/{rest...}?q={term}&p%61ge+no={page}")
        #expect(try URLPattern("/a").scheme == nil && URLPattern("/a").queryCaptures.isEmpty)
    }

    @Test func patternsAreComparedByBytes() throws {
        let patterns = try ["/caf\u{E9}", "/cafe\u{301}", "/caf%C3%A9", "/caf\u{E9}"].map { try URLPattern($0) }
        #expect(Set(patterns).count == 3)
    }

    @Test func aCaptureHasItsKind() throws {
        let found = try URLPattern("/{a}/{b:int}/{c...}").match(URLText("myapp:/x/1/y"))
        #expect(found?.map(\.kind) == [.text, .int, .rest])
    }
}

/// The vectors of URLNavigator's matcher, with its placeholders translated. They are not part of the repository.
///
/// There are two intended differences. `<float:id>` is read as text, because a route's numbers are integers.
/// `https://<path:url>` is refused, because it would accept any site. URLNavigator does not list the values in each
/// vector, so a match may have more.
@Suite struct PatternCorpusTests {
    struct Vector: Decodable {
        struct Expected: Decodable {
            struct Value: Decodable { let value: String }
            let pattern: String
            let values: [String: Value]
        }
        let test, url: String
        let candidates: [String]
        let expected: Expected?
    }

    @Test func vectorsHoldExceptForIntendedDifferences() throws {
        guard let vectors = try Corpus.cases("route_urlnavigator.json", of: Vector.self) else { return }
        #expect(vectors.count >= 17)
        var refused = 0
        for vector in vectors {
            if vector.candidates.contains("https://<path:url>") {
                #expect(throws: RoutePatternError.self) { try Self.table(vector) }
                refused += 1
                continue
            }
            let found = try Self.table(vector).match(URLText(vector.url))
            #expect(found?.pattern.text == vector.expected.map { Self.translated($0.pattern) }, "\(vector.test)")
            for (name, expected) in vector.expected?.values ?? [:] {
                #expect(found?.captures[name] == expected.value, "\(vector.test)")
            }
        }
        #expect(refused == 2)
    }

    /// Any text that is escaped into a segment is captured as the same bytes, or the URL is refused.
    @Test func anySegmentTextRoundTripsOrIsRefused() throws {
        guard let texts = try Corpus.cases("naughty_strings.json", of: String.self) else { return }
        #expect(texts.count >= 515)
        let any = try URLPattern("/text/{text}")
        var found = 0
        for text in texts where !text.isEmpty {
            let path =
                "/text/"
                + text.utf8.map { "%" + (String($0, radix: 16).count == 1 ? "0" : "") + String($0, radix: 16) }.joined()
            guard let url = try? URLText("myapp:" + path) else {
                #expect(throws: RoutePatternError.self, "\(text.debugDescription)") { try URLPattern(path) }
                continue
            }
            found += 1
            #expect(any.match(url)?["text"].map { Array($0.utf8) } == Array(text.utf8), "\(text.debugDescription)")
            // A literal over the maximum length cannot be a pattern.
            guard path.utf8.count <= URLPattern.maximumLength else { continue }
            let table = try RouteTable([(URLPattern(path), true), (any, false)])
            #expect(table.match(url)?.value == true, "\(text.debugDescription)")
        }
        #expect(found > 450)
    }

    private static func table(_ vector: Vector) throws -> RouteTable<Int> {
        try RouteTable(vector.candidates.enumerated().map { (try URLPattern(translated($1)), $0) })
    }

    /// Translates `<int:id>` to `{id:int}`, `<uuid:id>` to `{id:uuid}`, `<path:p>` to `{p...}`, others to `{id}`.
    private static func translated(_ pattern: String) -> String {
        pattern.split(separator: "/", omittingEmptySubsequences: false).map { segment in
            guard segment.hasPrefix("<"), segment.hasSuffix(">") else { return String(segment) }
            let parts = segment.dropFirst().dropLast().split(separator: ":")
            let name = parts.last ?? ""
            switch parts.dropLast().first {
            case "int": return "{\(name):int}"
            case "uuid": return "{\(name):uuid}"
            case "path": return "{\(name)...}"
            default: return "{\(name)}"
            }
        }.joined(separator: "/")
    }
}
