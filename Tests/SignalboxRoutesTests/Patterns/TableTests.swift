import SignalboxRoutes
import Testing

@Suite struct TableTests {
    private func table(_ patterns: [String]) throws -> RouteTable<Int> {
        try RouteTable(patterns.enumerated().map { (try URLPattern($1), $0) })
    }

    struct Precedence: Sendable, CustomTestStringConvertible {
        /// The patterns, most specific first.
        let patterns: [String]
        let url: String

        init(_ url: String, _ patterns: [String]) {
            self.patterns = patterns
            self.url = url
        }

        var testDescription: String { url }
    }

    /// Each pattern matches the URL. After the first one is removed, the table finds the next one.
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
    func theMostSpecificPatternWinsInAnyOrder(given: Precedence) throws {
        let url = try URLText(given.url.hasPrefix("/") ? "myapp:\(given.url)" : given.url)
        for first in given.patterns.indices {
            let left = Array(given.patterns[first...])
            #expect(try table(left).match(url)?.pattern.text == left.first)
            #expect(try table(left.reversed()).match(url)?.pattern.text == left.first)
        }
    }

    @Test func theSearchBacktracksFromADeadEnd() throws {
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
    func ambiguousPatternsAreRefusedAndNamed(pair: [String]) throws {
        let error = #expect(throws: RoutePatternError.self) { try table(["/other/{x}"] + pair) }
        #expect(error?.reason == .ambiguous)
        #expect(error?.offset == 0)
        #expect(error?.otherPattern == pair[0])
        let names = "\(pair[1].debugDescription) and \(pair[0].debugDescription)"
        #expect(error?.detail == "\(names) match the same URLs; keep one of them, or make one more specific")
    }

    @Test func patternsThatMatchDifferentURLsCoexist() throws {
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

/// Counts visits and reads, not time. A table must read a URL once, whatever its patterns.
@Suite struct TableLinearityTests {
    private func table(_ patterns: [String]) throws -> RouteTable<Int> {
        try RouteTable(patterns.enumerated().map { (try URLPattern($1), $0) })
    }

    private static let paths = [
        String(repeating: "a", count: 50_000), repeated("a/", 25_000), repeated("a/", 25_000) + "%2F",
        repeated("%2F/", 12_500), repeated("/", 50_000), repeated("9", 50_000), repeated("-1/", 16_000),
    ]

    private static func repeated(_ text: String, _ count: Int) -> String {
        String(repeating: text, count: count)
    }

    /// Many captures: alone, before a rest, and before an end that does not match.
    @Test(arguments: ["", "/{r...}", "/z"], ["", ":int"])
    func manyCapturesOnALongPathReadEachSegmentOnce(end: String, kind: String) throws {
        let captures = (1...50).map { "/{c\($0)\(kind)}" }.joined()
        let routes = try table([captures + end])
        for path in Self.paths {
            let url = try URLText("myapp://h/" + path)
            let (route, walk) = routes.search(url)
            #expect(walk.visits <= 53)
            #expect(walk.reads <= 52)
            #expect(try (route != nil) == (URLPattern(captures + end).match(url) != nil))
        }
    }

    /// Each segment matches on two branches, and every path ends in a miss. There are as many paths as patterns.
    @Test func worstCaseBacktrackingVisitsEachNodeOnce() throws {
        let depth = 10
        let patterns = (0..<1 << depth).map { bits in
            (0..<depth).map { bits >> $0 & 1 == 0 ? "/a" : "/{x\($0)}" }.joined() + "/z"
        }
        let routes = try table(patterns)
        let nodes = (0...depth).reduce(0) { $0 + 1 << $1 } + 1 << depth
        let missed = routes.search(try URLText("myapp:" + Self.repeated("/a", depth) + "/y"))
        #expect(missed.route == nil)
        #expect(missed.walk.visits <= nodes && missed.walk.visits > 1 << depth)
        #expect(missed.walk.reads == depth + 1)
        let found = routes.search(try URLText("myapp:" + Self.repeated("/a", depth) + "/z"))
        #expect(found.route == 0 && found.walk.visits == depth + 2)
    }

    /// Each position has every kind of piece, and a number matches three of them.
    @Test func aSegmentIsReadOncePerMatchingKind() throws {
        let depth = 6
        let ways = ["/7", "/{x:int}", "/{x}", "/{x:uuid}"]
        let patterns = (0..<1 << (2 * depth)).map { number in
            (0..<depth).map { ways[number >> (2 * $0) & 3].replacing("x", with: "x\($0)") }.joined() + "/z"
        }
        let routes = try table(patterns)
        let missed = routes.search(try URLText("myapp:" + Self.repeated("/7", depth) + "/y"))
        #expect(missed.route == nil && missed.walk.visits > 700)
        #expect(missed.walk.reads == 3 * depth + 1)
    }

    /// A rest is possible at each segment, and the last segment makes all of them fail.
    @Test func refusedRestCapturesTakeLinearWork() throws {
        let patterns = (0..<400).map { Self.repeated("/a", $0) + "/{r...}" }
        let routes = try table(patterns)
        let refused = routes.search(try URLText("myapp:" + Self.repeated("/a", 30_000) + "/%2F"))
        #expect(refused.route == nil && refused.walk.visits == 400 && refused.walk.reads <= 400)
        let taken = routes.search(try URLText("myapp:" + Self.repeated("/a", 30_000)))
        #expect(taken.route == 399)
    }

    @Test func theLongestURLsMatchWithoutRecursion() throws {
        let url = try URLText("myapp://h" + Self.repeated("/a", 30_000))
        let rest = try URLPattern("/a/{r...}")
        #expect(rest.match(url)?["r"]?.utf8.count == 59_997)
        let deep = Self.repeated("/a", 2_000)
        let routes = try table([deep, deep + "/{r...}", deep + "/b", "/{x}" + deep])
        #expect(routes.match(url)?.pattern.text == deep + "/{r...}")
        #expect(try routes.match(URLText("myapp://h" + deep + "/b"))?.pattern.text == deep + "/b")
        #expect(try routes.match(URLText("myapp://h" + Self.repeated("/a", 2_001)))?.value == 1)
        let catchAll = try table(["myapp://{r...}"])
        #expect(catchAll.match(url)?.captures["r"]?.utf8.count == 60_001)
        #expect(catchAll.search(url).walk.visits == 1)
    }

    @Test func lookupCostDoesNotGrowWithTheRoutes() throws {
        let urls = try ["/shop/7/item/9", "/shop/7", "/item/x/y/z", "/none"].map { try URLText("myapp://h" + $0) }
        func work(_ count: Int) throws -> [[Int?]] {
            let shared = ["/shop/{id:int}/item/{n}", "/shop/{id}", "/item/{r...}"]
            let others = (0..<count - 3).flatMap { number in
                ["/shop/{id:int}/part\(number)", "/other\(number)/{x}", "myapp://h\(number)/{x}", "s\(number)://h/{x}"]
            }
            let routes = try table(shared + others.prefix(count - 3))
            #expect(routes.count == count)
            return urls.map {
                let (route, walk) = routes.search($0)
                return [route, walk.visits, walk.reads]
            }
        }
        let few = try work(10)
        #expect(few.map { $0[0] } == [0, 1, 2, nil])
        #expect(try work(100) == few)
        #expect(try work(10_000) == few)
    }
}
