import SignalboxRoutes
import Testing

@Suite struct TopicFilterTreeTests {
    /// Returns all texts of one to three levels from these.
    private func texts(_ levels: [String]) -> [String] {
        let two = levels.flatMap { first in levels.map { "\(first)/\($0)" } }
        return levels + two + two.flatMap { start in levels.map { "\(start)/\($0)" } }
    }

    private func overlaps(_ one: String, _ other: String) throws -> Bool {
        var tree = TopicFilterTree()
        #expect(try !tree.insert(TopicFilter(one)))
        return try tree.insert(TopicFilter(other))
    }

    /// Two filters overlap if any of these topics, of which some have more levels than any filter, matches both.
    @Test func twoFiltersOverlapIfATopicMatchesBoth() throws {
        let filters = texts(["a", "$a", "+", "#", ""]).compactMap { try? TopicFilter($0) }
        let topics = texts(["a", "$a", "b", ""]) + texts(["a", "$a", "b"]).map { $0 + "/b" }
        let names = try topics.filter { !$0.isEmpty }.map { try TopicName($0) }
        #expect(filters.count > 60 && names.count > 100)
        // The empty text is no topic, which the tree does not know.
        let matches = filters.map { filter in
            let found = Set(names.indices.filter { filter.matches(names[$0]) })
            return TopicWalk.matches(Array(filter.text.utf8), []) ? found.union([-1]) : found
        }
        for (first, one) in filters.enumerated() {
            for (second, other) in filters.enumerated() {
                let expected = !matches[first].isDisjoint(with: matches[second])
                #expect(try overlaps(one.text, other.text) == expected, "\(one) \(other) \(expected)")
            }
        }
    }

    @Test func aFilterIsComparedWithAllEarlierOnes() throws {
        var tree = TopicFilterTree()
        let filters = ["a/b", "a/+/c", "d/#", "a/x/y", "+/b", "d", "a/x/c", "e/f", "a/b/c", "$share/g/e/f", "e"]
        let found = try filters.map { try tree.insert(TopicFilter($0)) }
        #expect(found == [false, false, false, false, true, true, true, false, true, true, false])
    }

    @Test func manyFiltersWithoutCommonTopicsDoNotOverlap() throws {
        var tree = TopicFilterTree()
        for index in 0..<1_000 { #expect(try !tree.insert(TopicFilter("site/\(index)/+/state"))) }
        #expect(try tree.insert(TopicFilter("site/+/door/state")))
        #expect(try !tree.insert(TopicFilter("site/+/door")))
    }

    /// Levels behind the 32nd are not compared.
    @Test func longFiltersThatAreTheSameAtFirstOverlap() throws {
        let long = Array(repeating: "a", count: 32).joined(separator: "/")
        #expect(try overlaps(long + "/b", long + "/c"))
        #expect(try overlaps(long + "/b", long))
        #expect(try !overlaps("b/" + long, "c/" + long))
        let deepest = String(repeating: "/", count: 65_535)
        #expect(try overlaps(deepest, deepest))
    }
}
