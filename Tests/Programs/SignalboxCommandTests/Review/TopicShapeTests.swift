import SignalboxCore
import SignalboxRoutes
import Testing

@testable import SignalboxCommand

@Suite struct TopicShapeTests {
    private static let id = "123e4567-e89b-12d3-a456-426614174000"

    @Test(arguments: [
        ("a/+", "a/b", true), ("a/b", "a/+", false), ("a/+", "a/{x}", true), ("a/{x:int}", "a/7", true),
        ("a/{x:int}", "a/b", false), ("a/{x:int}", "a/{y}", false), ("a/{x}", "a/{y:int}", true),
        ("a/{x:int}", "a/{y:int}", true), ("a/{x:int}", "a/{y:uuid}", false), ("a/{x:uuid}", "a/\(id)", true),
        ("a/#", "a", true), ("a/#", "a/b/c", true), ("a/#", "b", false), ("a/+", "a/#", false), ("a", "a/#", false),
        ("#", "a/#", true), ("+/#", "#", true), ("+/+/#", "#", false), ("a/b", "a/b", true), ("a/b", "a/b/c", false),
        ("a/b/c", "a/b", false), ("#", "$SYS/a", false), ("+/a", "$SYS/a", false), ("$SYS/#", "$SYS/a", true),
        ("$share/g/a/+", "a/b", true), ("a/{rest...}", "a/+/c", true), ("{x:int}", "$1", false),
        ("a/{x:int}", "a/-0", true),
        ("a/{x:int}", "a/07", false), ("a/", "a/+", false), ("a/+", "a/", true),
    ])
    func aPatternCoversWhatMatchesNothingElse(_ pattern: String, _ other: String, _ expected: Bool) throws {
        #expect(TopicShape(try TopicPattern(pattern)).covers(TopicShape(try TopicPattern(other))) == expected)
    }

    @Test(arguments: [
        ("a/+", "a/b", true), ("a/+/c", "a/b/+", true), ("a/+/c", "a/b/d", false), ("a/#", "a", true),
        ("a/#", "b/#", false),
        ("+/x", "$SYS/x", false), ("$SYS/x", "#", false), ("a/{x:int}", "a/{y:uuid}", false),
        ("a/{x:int}", "a/+", true),
        ("a/{x:int}", "a/seven", false), ("a/b/#", "a", false), ("a/+", "a", false), ("+", "a/#", true),
        ("a", "a", true),
    ])
    func twoPatternsMeetWhereATopicIsOneOfBoth(_ left: String, _ right: String, _ expected: Bool) throws {
        let shapes = (TopicShape(try TopicPattern(left)), TopicShape(try TopicPattern(right)))
        #expect(shapes.0.meets(shapes.1) == expected)
        #expect(shapes.1.meets(shapes.0) == expected)
    }

    @Test func theActionStandsInThePlaceOfItsCapture() throws {
        let pattern = try TopicPattern("push/{device}/{action}")
        let wanted = TopicShape(try TopicFilter("push/+/loading"))
        #expect(wanted.meets(TopicShape(pattern)))
        #expect(wanted.covers(TopicShape(pattern, action: "loading")))
        #expect(!wanted.meets(TopicShape(pattern, action: "payment")))
        let rest = try TopicPattern("push/{action...}")
        #expect(TopicShape(try TopicFilter("push/+")).covers(TopicShape(rest, action: "payment")))
    }

    /// Against the matcher itself: what covers matches each topic that the other does, and what does not meet has none in
    /// common.
    @Test func theAnswersAreTrueOfAllTopicsOfThreeLevels() throws {
        let levels = ["a", "7", "+", "{x}", "{x:int}", "#"]
        let pairs = levels.dropLast().flatMap { first in
            levels.map { "\(first)/\($0.replacing("x", with: "y"))" }
        }
        let patterns = try (levels + pairs).map { try TopicPattern($0) }
        let words = ["a", "7", "8", "b", ""]
        let topics =
            words.filter { !$0.isEmpty } + words.flatMap { one in words.map { "\(one)/\($0)" } } + ["a/7/b", "b/b/b"]
        for left in patterns {
            for right in patterns {
                let found = topics.map { (left.match($0) != nil, right.match($0) != nil) }
                let (mine, theirs) = (TopicShape(left), TopicShape(right))
                if mine.covers(theirs) { #expect(!found.contains { !$0.0 && $0.1 }, "\(left) covers \(right)") }
                if !mine.meets(theirs) { #expect(!found.contains { $0.0 && $0.1 }, "\(left) meets \(right)") }
                if !found.contains(where: { $0.0 && $0.1 }) { #expect(!mine.meets(theirs), "\(left) and \(right)") }
                if !found.contains(where: { !$0.0 && $0.1 }) { #expect(mine.covers(theirs), "\(left) and \(right)") }
            }
        }
    }
}
