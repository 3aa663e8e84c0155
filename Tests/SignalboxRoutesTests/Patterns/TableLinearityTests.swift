import SignalboxRoutes
import Testing

/// Visits and reads are counted, times are not: a table must look at a URL once, however it is made.
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

    /// Many captures, with a rest, with an end that is missed, and alone.
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

    /// Each segment may be taken in two ways, and each way ends in a miss: as many ways as the table has patterns.
    @Test func aTableMadeForGoingBackVisitsEachNodeOnce() throws {
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

    /// All kinds stand at each place, and a number is taken in three ways.
    @Test func aSegmentIsReadOnceForEachThingItMayBe() throws {
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

    /// A rest waits at each segment, and the last segment lets none of them take it.
    @Test func restsThatAreAllRefusedCostNothing() throws {
        let patterns = (0..<400).map { Self.repeated("/a", $0) + "/{r...}" }
        let routes = try table(patterns)
        let refused = routes.search(try URLText("myapp:" + Self.repeated("/a", 30_000) + "/%2F"))
        #expect(refused.route == nil && refused.walk.visits == 400 && refused.walk.reads <= 400)
        let taken = routes.search(try URLText("myapp:" + Self.repeated("/a", 30_000)))
        #expect(taken.route == 399)
    }

    @Test func theLongestURLsMatchWithoutDepth() throws {
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

    @Test func aLookupDoesNotGrowWithTheRoutes() throws {
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
