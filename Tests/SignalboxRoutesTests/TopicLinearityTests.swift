import SignalboxRoutes
import Testing

/// Reads are counted, times are not: what would take a backtracking matcher for ever must read each byte a few times.
@Suite struct TopicLinearityTests {
    private static let deep = 32_767

    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription, filter, topic: String

        init(_ testDescription: String, _ filter: String, _ topic: String) {
            self.testDescription = testDescription
            self.filter = filter
            self.topic = topic
        }
    }

    @Test(arguments: [
        Case("a miss at the end", repeated("+/", deep) + "b", repeated("a/", deep) + "c"),
        Case("# after many +", repeated("+/", deep) + "#", repeated("a/", deep) + "c"),
        Case("empty levels only", repeated("/", 65_535), repeated("/", 65_535)),
        Case("50 wildcards, one level", repeated("a/+/", 50) + "x", repeated("a", 65_535)),
        Case("50 wildcards, many levels", repeated("+/", 50) + "x", repeated("aa/", 21_845)),
        Case("one long level", "+/+", repeated("a", 65_535)),
        Case("the parent of #", "a/#", "a"),
        Case("a topic of the broker", "+", "$a"),
    ])
    func eachByteIsReadAtMostThreeTimes(given: Case) {
        let filter = CountedBytes(given.filter)
        let topic = CountedBytes(given.topic)
        _ = TopicWalk.matches(filter, topic)
        #expect(filter.mostReads <= 3)
        #expect(topic.mostReads <= 3)
    }

    private static func repeated(_ text: String, _ count: Int) -> String {
        String(repeating: text, count: count)
    }

    @Test func theLongestTopicsMatchWithoutDepth() throws {
        let filter = try TopicFilter(String(repeating: "+/", count: Self.deep) + "b")
        #expect(filter.matches(String(repeating: "a/", count: Self.deep) + "b"))
        #expect(!filter.matches(String(repeating: "a/", count: Self.deep) + "c"))
        let pattern = try TopicPattern(String(repeating: "+/", count: 32_000) + "{last...}")
        #expect(pattern.match(String(repeating: "/", count: 32_000) + "x/y")?.first?.value == "x/y")
    }
}
