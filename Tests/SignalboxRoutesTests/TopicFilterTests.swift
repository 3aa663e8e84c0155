import SignalboxRoutes
import Testing

@Suite struct TopicFilterTests {
    /// The examples of MQTT 5.0, 4.7.1 to 4.7.3, and what follows from the rules.
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
        ("+/x", "\u{FEFF}$SYS/x"), ("日本/+", "日本/🚦"), ("{device}", "{device}"), ("$share", "$share"), ("$", "$"),
    ])
    func matches(filter: String, topic: String) throws {
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
    func doesNotMatch(filter: String, topic: String) throws {
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

    @Test func aFaultIsNamedWithItsPlace() {
        expectFault("", .empty, 0)
        expectFault("a/b+", .wildcardNotAlone, 3)
        expectFault("é/#/b", .multiLevelNotLast, 3)
        expectFault("a\u{0}", .nullCharacter, 1)
        expectFault(String(repeating: "a", count: 65_536), .tooLong, 65_535)
    }

    @Test func aSharedSubscriptionNeedsANameAndAFilter() throws {
        expectFault("$share/", .invalidShareName, 7)
        expectFault("$share//a", .invalidShareName, 7)
        expectFault("$share/+/a", .invalidShareName, 7)
        expectFault("$share/g#/a", .invalidShareName, 7)
        expectFault("$share/g", .missingSharedFilter, 8)
        expectFault("$share/g/", .missingSharedFilter, 9)
        expectFault("$share/\u{0}/a", .nullCharacter, 7)
        #expect(try TopicFilter("$share/g//").matches("/"))
    }

    @Test func aSharedSubscriptionMatchesAsItsFilterOnly() throws {
        let filter = try TopicFilter("$share/g/a/+")
        #expect(filter.isShared)
        #expect(filter.matches("a/b"))
        #expect(!filter.matches("$share/g/a/b"))
        #expect(try TopicFilter("$share/g/$SYS/#").matches("$SYS/x"))
        #expect(try !TopicFilter("$share").isShared)
        #expect(try !TopicFilter("$shared/g/a").isShared)
    }

    @Test(arguments: ["", "a/+", "#", "a\u{0}"])
    func aTextThatIsNoNameMatchesNothing(topic: String) throws {
        #expect(try !TopicFilter("#").matches(topic))
        #expect(try !TopicFilter("a/+").matches(topic))
    }

    @Test func equalityIsOfBytes() throws {
        #expect(try TopicFilter("a/+") == TopicFilter("a/+"))
        #expect(try TopicFilter("caf\u{E9}/#") != TopicFilter("cafe\u{301}/#"))
        #expect(try Set([TopicFilter("a"), TopicFilter("a"), TopicFilter("b")]).count == 2)
    }

    private func expectFault(_ text: String, _ reason: TopicError.Reason, _ offset: Int) {
        let error = #expect(throws: TopicError.self) { try TopicFilter(text) }
        #expect(error?.reason == reason)
        #expect(error?.offset == offset)
    }
}
