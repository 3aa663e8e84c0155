import SignalboxRoutes
import Testing

@Suite struct TableTests {
    private func table(_ patterns: [String]) throws -> RouteTable<Int> {
        try RouteTable(patterns.enumerated().map { (try URLPattern($1), $0) })
    }

    struct Precedence: Sendable, CustomTestStringConvertible {
        /// From the most specific on.
        let patterns: [String]
        let url: String

        init(_ url: String, _ patterns: [String]) {
            self.patterns = patterns
            self.url = url
        }

        var testDescription: String { url }
    }

    /// Each pattern matches the URL; when the first of those that are left is taken away, the next one is found.
    @Test(arguments: [
        Precedence("myapp://a/7", ["myapp://a/7", "myapp://a/{x:int}", "myapp://a/{x}", "myapp://a/{x...}"]),
        Precedence("myapp://a/7", ["myapp://a/{x...}", "myapp://{h}/7", "myapp://{h}/{x}", "myapp://{r...}"]),
        Precedence("myapp://a/7", ["myapp://{r...}", "/7", "/{x:int}", "/{x}", "/{x...}"]),
        Precedence("myapp://a", ["myapp://a", "myapp://a/{r...}", "myapp://{h}", "myapp://{r...}", "/", "/{r...}"]),
        Precedence("/a/b/c", ["/a/b/c", "/a/b/{z}", "/a/b/{z...}", "/a/{y}/c", "/a/{y...}", "/{x}/b/c", "/{x...}"]),
        Precedence("/7/b", ["/7/{y...}", "/{x:int}/b", "/{x:int}/{y}", "/{x:int}/{r...}", "/{x}/b", "/{r...}"]),
        Precedence(
            "/621425b8-42d1-4ab4-9a58-1e69d708a84b/b",
            ["/621425b8-42d1-4ab4-9a58-1e69d708a84b/{r...}", "/{x:uuid}/{r...}", "/{x}/b", "/{r...}"]
        ),
        Precedence("/a/b", ["/a/b", "/a/b/{r...}", "/a/{y}", "/a/{y}/{r...}", "/a/{r...}", "/{x}/b"]),
        Precedence("opaque:a/7", ["opaque:a/7", "opaque:a/{n:int}", "opaque:a/{n}", "opaque:{r...}"]),
    ])
    func theMoreSpecificPatternWinsWhateverTheOrder(given: Precedence) throws {
        let url = try URLText(given.url.hasPrefix("/") ? "myapp:\(given.url)" : given.url)
        for first in given.patterns.indices {
            let left = Array(given.patterns[first...])
            #expect(try table(left).match(url)?.pattern.text == left.first)
            #expect(try table(left.reversed()).match(url)?.pattern.text == left.first)
        }
    }

    @Test func aWayThatEndsIsLeftForTheNext() throws {
        let routes = try table([
            "/a/b/c/d", "/a/{x}/c/e", "/a/{n:int}/c", "/{y}/b/c/f", "/{y}/{r...}", "myapp://h/a/b/c/d/e",
        ])
        func found(_ url: String) throws -> [String]? {
            guard let match = try routes.match(URLText(url)) else { return nil }
            return [match.pattern.text] + match.captures.map { "\($0.name)=\($0.value)" }
        }
        #expect(try found("myapp://h/a/b/c/d") == ["/a/b/c/d"])
        #expect(try found("myapp://h/a/b/c/d/e") == ["myapp://h/a/b/c/d/e"])
        #expect(try found("myapp://h/a/b/c/e") == ["/a/{x}/c/e", "x=b"])
        #expect(try found("myapp://h/a/b/c/f") == ["/{y}/b/c/f", "y=a"])
        #expect(try found("myapp://h/a/b/c/g") == ["/{y}/{r...}", "y=a", "r=b/c/g"])
        #expect(try found("myapp://h/a/7/c") == ["/a/{n:int}/c", "n=7"])
        #expect(try found("myapp://h/a/7/c/e") == ["/a/{x}/c/e", "x=7"])
        #expect(try found("myapp://h/a/7/d") == ["/{y}/{r...}", "y=a", "r=7/d"])
        #expect(try found("myapp://h/a") == ["/{y}/{r...}", "y=a", "r="])
        #expect(try found("myapp://h/") == nil)
        #expect(try found("myapp://h/a/b%2Fc") == nil)
        #expect(try found("myapp:a/b/c/d") == nil)
    }

    @Test(arguments: [
        ["/a/{x}", "/a/{y}"], ["/a/{x:int}/b", "/a/{n:int}/b"], ["/{x:uuid}", "/{y:uuid}"], ["/{r...}", "/{s...}"],
        ["/a", "/a/"], ["/a", "/%61"], ["/a?q={x}", "/a?r={y}"], ["/a", "/a?q={x}"], ["/", "/"],
        ["myapp://h/a", "MYAPP://h/a"], ["myapp://h/a", "myapp://H/a/"], ["myapp://h", "myapp://h/"],
        ["https://h.example", "HTTPS://H.example:443/"], ["myapp://{h}/a", "myapp://{x}/a"],
        ["myapp://{h}", "myapp://{h}/"], ["myapp://{r...}", "myapp://{s...}/"], ["myapp://", "myapp:///"],
        ["https://[::1]/a", "https://[0:0:0:0:0:0:0:1]/a"], ["myapp:a", "myapp:a/"], ["myapp:", "MyApp:"],
        ["file:///a", "file:///a/"],
    ])
    func twoPatternsThatNothingOrdersAreRefusedAndBothNamed(pair: [String]) throws {
        let error = #expect(throws: RoutePatternError.self) { try table(["/other/{x}"] + pair) }
        #expect(error?.reason == .ambiguous)
        #expect(error?.offset == 0)
        #expect(error?.otherPattern == pair[0])
        let names = "\(pair[1].debugDescription) and \(pair[0].debugDescription)"
        #expect(error?.detail == "\(names) match the same URLs; keep one of them, or make one more specific")
    }

    @Test func patternsThatDifferInWhatTheyMatchStandBesideEachOther() throws {
        let patterns = [
            "/{x:int}", "/{x:uuid}", "/{x}", "/{x...}", "/A", "/a", "/caf\u{E9}", "/cafe\u{301}", "myapp://h:1/a",
            "myapp://h:2/a", "myapp://h/a", "other://h/a", "myapp:///a", "myapp:/a", "myapp:a", "myapp://{h}/a",
            "http://h/a", "https://h/a",
        ]
        let routes = try table(patterns)
        #expect(routes.count == patterns.count)
        for (url, expected) in [
            ("myapp://h:1/a", "myapp://h:1/a"), ("myapp://h:2/a", "myapp://h:2/a"), ("myapp://h:3/a", "/a"),
            ("myapp://g/a", "myapp://{h}/a"), ("myapp:///a", "myapp:///a"), ("myapp:/a", "myapp:/a"),
            ("myapp:a", "myapp:a"),
            ("http://h/a", "http://h/a"), ("http://h/A", "/A"), ("http://h/7", "/{x:int}"), ("http://h/7/8", "/{x...}"),
        ] {
            #expect(try routes.match(URLText(url))?.pattern.text == expected, "\(url)")
        }
    }

    @Test func aTableWithoutRoutesMatchesNothing() throws {
        #expect(try table([]).match(URLText("myapp://h/a"))?.value == nil)
        #expect(try table([]).count == 0)
    }

    @Test func aMatchHoldsPatternValueAndCaptures() throws {
        let pattern = try URLPattern("myapp://product/{id:int}?q={term}")
        let match = try RouteTable([(pattern, "product")]).match(URLText("myapp://product/42?q=x"))
        #expect(match?.pattern == pattern && match?.value == "product")
        #expect(match?.captures == RouteCaptures([RouteCapture(name: "id", value: "42", kind: .int)]))
    }
}
