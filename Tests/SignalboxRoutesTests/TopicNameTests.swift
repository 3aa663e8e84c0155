import SignalboxRoutes
import Testing

@Suite struct TopicNameTests {
    @Test(arguments: [
        "a", "/", "//", "a/", "/a", "a//b", "Accounts payable", "$SYS/broker/load", "$share/g/a", "a/b c/\u{1}\u{7F}",
        "\u{FEFF}a", "日本/émoji/🚦", "{}", "a\r\nb",
    ])
    func anyOtherTextIsAName(text: String) throws {
        #expect(try TopicName(text).text == text)
    }

    @Test func anEmptyNameIsRefused() {
        expectFault("", .empty, 0)
    }

    @Test func wildcardsAreRefusedWhereverTheyStand() {
        expectFault("+", .wildcardInName, 0)
        expectFault("a/#", .wildcardInName, 2)
        expectFault("é/b+c/d", .wildcardInName, 4)
    }

    @Test func theNullCharacterIsRefused() {
        expectFault("a/\u{0}", .nullCharacter, 2)
    }

    @Test func theLimitCountsBytesOfUTF8() throws {
        let longest = String(repeating: "é", count: 32_767) + "a"
        #expect(try TopicName(longest).text.utf8.count == TopicName.maximumLength)
        expectFault(longest + "a", .tooLong, 65_535)
    }

    @Test func aNameWrittenWithOtherBytesIsAnotherName() throws {
        let composed = try TopicName("caf\u{E9}")
        let decomposed = try TopicName("cafe\u{301}")
        #expect(composed.text == decomposed.text)
        #expect(composed != decomposed)
        #expect(Set([composed, decomposed]).count == 2)
    }

    @Test func anErrorNamesTheRuleAndThePlaceButNotTheText() {
        let error = #expect(throws: TopicError.self) { try TopicName("secret/+") }
        #expect(error?.description == "a topic name must not contain + or # (at byte 7)")
        #expect(error?.reason.description == "wildcardInName")
    }

    private func expectFault(_ text: String, _ reason: TopicError.Reason, _ offset: Int) {
        let error = #expect(throws: TopicError.self) { try TopicName(text) }
        #expect(error?.reason == reason)
        #expect(error?.offset == offset)
    }
}
