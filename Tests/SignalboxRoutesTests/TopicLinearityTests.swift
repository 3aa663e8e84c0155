import SignalboxRoutes
import Testing

/// Reads are counted, times are not: what would take a backtracking matcher for ever must read each byte a few times.
@Suite struct TopicLinearityTests {
    private static let deep = 32_767

    @Test(arguments: [
        (String(repeating: "+/", count: deep) + "b", String(repeating: "a/", count: deep) + "c"),
        (String(repeating: "+/", count: deep) + "#", String(repeating: "a/", count: deep) + "c"),
        (String(repeating: "/", count: 65_535), String(repeating: "/", count: 65_535)),
        (String(repeating: "a/+/", count: 50) + "x", String(repeating: "a", count: 65_535)),
        (String(repeating: "+/", count: 50) + "x", String(repeating: "aa/", count: 21_845)),
        ("+/+", String(repeating: "a", count: 65_535)),
        ("a/#", "a"), ("+", "$a"),
    ])
    func eachByteIsReadAtMostThreeTimes(filter: String, topic: String) {
        let filter = CountedBytes(filter)
        let topic = CountedBytes(topic)
        _ = TopicWalk.matches(filter, topic)
        #expect(filter.mostReads <= 3)
        #expect(topic.mostReads <= 3)
    }

    @Test func theLongestTopicsMatchWithoutDepth() throws {
        let filter = try TopicFilter(String(repeating: "+/", count: Self.deep) + "b")
        #expect(filter.matches(String(repeating: "a/", count: Self.deep) + "b"))
        #expect(!filter.matches(String(repeating: "a/", count: Self.deep) + "c"))
        let pattern = try TopicPattern(String(repeating: "+/", count: 32_000) + "{last...}")
        #expect(pattern.match(String(repeating: "/", count: 32_000) + "x/y")?.first?.value == "x/y")
    }
}
