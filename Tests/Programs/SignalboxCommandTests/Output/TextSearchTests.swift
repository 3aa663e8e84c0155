import Testing

@testable import SignalboxCommand

@Suite struct TextSearchTests {
    @Test(arguments: [
        ("abcabc", "bc", "a-a-"), ("aaa", "aa", "-a"), ("abc", "abc", "-"), ("abc", "abcd", "abc"), ("abc", "", "abc"),
        ("", "a", ""),
        ("bbc", "bc", "b-"), ("grüße", "ß", "grü-e"), ("👩‍👩‍👧", "👩", "-\u{200D}-\u{200D}👧"),
    ])
    func eachOccurrenceIsReplacedOnce(_ text: String, _ old: String, _ expected: String) {
        #expect(text.replacing(old, with: "-") == expected)
        #expect(text[...].replacing(old, with: "-") == expected)
    }

    @Test func aQuoteIsFoundBeforeACombiningMark() {
        let text = "a\"\u{301}b"
        #expect(text.replacing("\"", with: "\\\"") == "a\\\"\u{301}b")
        #expect(text.contains("\""))
    }

    @Test func theFirstOccurrenceIsFound() throws {
        let text = "one two one"
        let range = try #require(text.firstRange(of: "one"))
        #expect(range.lowerBound == text.startIndex)
        #expect(text[range.upperBound...].firstRange(of: "one").map { text[..<$0.lowerBound] } == "one two ")
        #expect(text.firstRange(of: "three") == nil)
        #expect(text.contains("") && !text.contains("ow"))
    }
}
