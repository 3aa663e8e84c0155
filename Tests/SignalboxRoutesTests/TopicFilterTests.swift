import SignalboxRoutes
import TestSupport
import Testing

@Suite struct TopicFilterTests {
    /// The examples of MQTT 5.0, 4.7.1 to 4.7.3, and cases that follow from its rules.
    @Test(arguments: [
        ("sport/tennis/player1/#", "sport/tennis/player1"),
        ("sport/tennis/player1/#", "sport/tennis/player1/ranking"),
        ("sport/tennis/player1/#", "sport/tennis/player1/score/wimbledon"),
        ("sport/#", "sport"), ("sport/#", "sport/"), ("sport/#", "sport//"), ("#", "sport"), ("#", "/"),
        ("sport/tennis/+", "sport/tennis/player2"), ("sport/+", "sport/"),
        ("+", "sport"), ("+/tennis/#", "sport/tennis"), ("+/tennis/#", "/tennis/x"),
        ("sport/+/player1", "sport//player1"),
        ("+/+", "/finance"), ("/+", "/finance"), ("/+", "/"), ("+/+", "/"), ("/#", "/"), ("//", "//"), ("+/#", "a"),
        ("a/+/#", "a/b"), ("a/+/#", "a/"), ("+/+/#", "/"), ("Accounts payable", "Accounts payable"),
        ("a/b/c", "a/b/c"), ("$SYS/#", "$SYS"), ("$SYS/#", "$SYS/monitor/Clients"), ("$SYS/+", "$SYS/"),
        ("$SYS/monitor/+", "$SYS/monitor/Clients"), ("a/#", "a/$SYS"), ("a/+", "a/$SYS"), ("/#", "/$SYS"),
        ("+/x", "\u{FEFF}$SYS/x"), ("日本/+", "日本/🚦"), ("{device}", "{device}"), ("$shared", "$shared"), ("$", "$"),
    ])
    func aFilterMatchesItsTopics(filter: String, topic: String) throws {
        #expect(try TopicFilter(filter).matches(topic))
        #expect(try TopicFilter("$share/group/" + filter).matches(topic))
    }

    @Test(arguments: [
        ("sport/tennis/+", "sport/tennis/player1/ranking"), ("sport/tennis/player1/#", "sport/tennis/player10"),
        ("sport/+", "sport"), ("+", "/finance"), ("+", "a/"), ("/finance", "finance"), ("finance", "/finance"),
        ("a", "a/"), ("a/", "a"), ("a", "A"), ("ACCOUNTS", "Accounts"), ("a//b", "a/b"), ("a/b", "a//b"), ("/#", "a"),
        ("a/b", "a/b/c"), ("a/b/c", "a/b"), ("a/+/c", "a/b/d"), ("a/+/c", "a/c"), ("a/#", "ab"), ("a/#", "b/a"),
        ("+/+", "a"), ("+/+", "a/b/c"), ("a/+/#", "a"), ("ab", "a"), ("a", "ab"), ("//", "/"), ("/", "//"),
        ("#", "$SYS/x"), ("#", "$"), ("+", "$SYS"), ("+/#", "$SYS/x"), ("+/monitor/Clients", "$SYS/monitor/Clients"),
        ("caf\u{E9}", "cafe\u{301}"), ("a", "\u{FEFF}a"),
    ])
    func aFilterDoesNotMatchOtherTopics(filter: String, topic: String) throws {
        #expect(try !TopicFilter(filter).matches(topic))
        #expect(try !TopicFilter("$share/group/" + filter).matches(topic))
    }

    @Test(arguments: ["a+", "+a", "a/+b", "a/b+/c", "++", "#a", "a#", "a/b#", "#/", "a/#/b", "##", "+#", "#/#"])
    func aMisplacedWildcardIsRefused(text: String) {
        let allowed: Set<TopicError.Reason> = [.wildcardNotAlone, .multiLevelNotLast]
        let error = #expect(throws: TopicError.self) { try TopicFilter(text) }
        #expect(error.map { allowed.contains($0.reason) } == true)
        let shared = #expect(throws: TopicError.self) { try TopicFilter("$share/g/" + text) }
        #expect(shared?.reason == error?.reason)
        #expect(shared?.offset == error.map { $0.offset + 9 })
    }

    @Test func anErrorIsReportedWithItsPosition() {
        expectError("", .empty, 0)
        expectError("a/b+", .wildcardNotAlone, 3)
        expectError("é/#/b", .multiLevelNotLast, 3)
        expectError("a\u{0}", .nullCharacter, 1)
        expectError(String(repeating: "a", count: 65_536), .tooLong, 65_535)
    }

    @Test func aSharedSubscriptionNeedsANameAndAFilter() throws {
        expectError("$share", .missingSharedFilter, 6)
        expectError("$share/", .invalidShareName, 7)
        expectError("$share//a", .invalidShareName, 7)
        expectError("$share/+/a", .invalidShareName, 7)
        expectError("$share/g#/a", .invalidShareName, 7)
        expectError("$share/g", .missingSharedFilter, 8)
        expectError("$share/g/", .missingSharedFilter, 9)
        expectError("$share/\u{0}/a", .nullCharacter, 7)
        #expect(try TopicFilter("$share/g//").matches("/"))
    }

    @Test func aSharedSubscriptionMatchesOnlyByItsFilter() throws {
        let filter = try TopicFilter("$share/g/a/+")
        #expect(filter.isShared)
        #expect(filter.matches("a/b"))
        #expect(!filter.matches("$share/g/a/b"))
        #expect(try TopicFilter("$share/g/$SYS/#").matches("$SYS/x"))
        #expect(try !TopicFilter("$shared/g/a").isShared)
    }

    @Test(arguments: ["", "a/+", "#", "a\u{0}"])
    func anInvalidTopicNameMatchesNoFilter(topic: String) throws {
        #expect(try !TopicFilter("#").matches(topic))
        #expect(try !TopicFilter("a/+").matches(topic))
    }

    @Test func filtersAreComparedByBytes() throws {
        #expect(try TopicFilter("a/+") == TopicFilter("a/+"))
        #expect(try TopicFilter("caf\u{E9}/#") != TopicFilter("cafe\u{301}/#"))
        #expect(try Set([TopicFilter("a"), TopicFilter("a"), TopicFilter("b")]).count == 2)
    }

    private func expectError(_ text: String, _ reason: TopicError.Reason, _ offset: Int) {
        let error = #expect(throws: TopicError.self) { try TopicFilter(text) }
        #expect(error?.reason == reason)
        #expect(error?.offset == offset)
    }
}

@Suite struct TopicNameTests {
    @Test(arguments: [
        "a", "/", "//", "a/", "/a", "a//b", "Accounts payable", "$SYS/broker/load", "$share/g/a", "a/b c/\u{1}\u{7F}",
        "\u{FEFF}a", "日本/émoji/🚦", "{}", "a\r\nb",
    ])
    func anyOtherTextIsAValidName(text: String) throws {
        #expect(try TopicName(text).text == text)
    }

    @Test func anEmptyNameIsRefused() {
        expectError("", .empty, 0)
    }

    @Test func wildcardsAreRefusedAtAnyPosition() {
        expectError("+", .wildcardInName, 0)
        expectError("a/#", .wildcardInName, 2)
        expectError("é/b+c/d", .wildcardInName, 4)
    }

    @Test func theNullCharacterIsRefused() {
        expectError("a/\u{0}", .nullCharacter, 2)
    }

    @Test func theLimitCountsUTF8Bytes() throws {
        let longest = String(repeating: "é", count: 32_767) + "a"
        #expect(try TopicName(longest).text.utf8.count == TopicName.maximumLength)
        expectError(longest + "a", .tooLong, 65_535)
    }

    @Test func namesAreComparedByBytes() throws {
        let composed = try TopicName("caf\u{E9}")
        let decomposed = try TopicName("cafe\u{301}")
        #expect(composed.text == decomposed.text)
        #expect(composed != decomposed)
        #expect(Set([composed, decomposed]).count == 2)
    }

    @Test func anErrorNamesTheRuleAndThePositionButNotTheText() {
        let error = #expect(throws: TopicError.self) { try TopicName("secret/+") }
        #expect(error?.description == "a topic name must not contain + or # (at byte 7)")
        #expect(error?.reason.description == "wildcardInName")
    }

    private func expectError(_ text: String, _ reason: TopicError.Reason, _ offset: Int) {
        let error = #expect(throws: TopicError.self) { try TopicName(text) }
        #expect(error?.reason == reason)
        #expect(error?.offset == offset)
    }
}

/// Further vectors, collected from other implementations. They are not part of the repository.
@Suite struct TopicCorpusTests {
    struct Vector: Decodable {
        let filter, topic: String
        /// The expected answer, or `nil` if the filter or the topic is invalid.
        let matches: Bool?

        init(from decoder: any Decoder) throws {
            var values = try decoder.unkeyedContainer()
            filter = try values.decode(String.self)
            topic = try values.decode(String.self)
            matches = try? values.decode(Bool.self)
        }
    }

    @Test func everyVectorOfTheCorpusHolds() throws {
        guard let vectors = try Corpus.cases("mqtt_topic_match.dev.json", of: Vector.self) else { return }
        #expect(vectors.count >= 132)
        for vector in vectors {
            #expect(Self.answer(vector) == vector.matches, "\(vector.filter) on \(vector.topic)")
        }
    }

    private static func answer(_ vector: Vector) -> Bool? {
        guard let filter = try? TopicFilter(vector.filter), let topic = try? TopicName(vector.topic) else { return nil }
        return filter.matches(topic)
    }
}

/// Counts reads, not time. Input on which backtracking is exponential must read each byte only a few times.
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

    @Test func theLongestTopicsMatchWithoutRecursion() throws {
        let filter = try TopicFilter(String(repeating: "+/", count: Self.deep) + "b")
        #expect(filter.matches(String(repeating: "a/", count: Self.deep) + "b"))
        #expect(!filter.matches(String(repeating: "a/", count: Self.deep) + "c"))
        let pattern = try TopicPattern(String(repeating: "+/", count: 32_000) + "{last...}")
        #expect(pattern.match(String(repeating: "/", count: 32_000) + "x/y")?.first?.value == "x/y")
    }
}

/// A collection of bytes that counts the reads of each byte.
struct CountedBytes: Collection {
    final class Reads {
        var counts: [Int]

        init(count: Int) {
            counts = Array(repeating: 0, count: count)
        }
    }

    let bytes: [UInt8]
    let reads: Reads

    init(_ text: String) {
        bytes = Array(text.utf8)
        reads = Reads(count: bytes.count)
    }

    var startIndex: Int { 0 }
    var endIndex: Int { bytes.count }

    func index(after position: Int) -> Int { position + 1 }

    subscript(position: Int) -> UInt8 {
        reads.counts[position] += 1
        return bytes[position]
    }

    /// The highest number of reads of one byte.
    var mostReads: Int { reads.counts.max() ?? 0 }
}
