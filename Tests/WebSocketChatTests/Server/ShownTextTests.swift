import Testing

@testable import WebSocketChat

@Suite struct ShownTextTests {
    @Test(arguments: [
        ("https://app.example", #""https://app.example""#), ("a\"b\\c", #""a\"b\\c""#),
        ("k\u{FC}che", "\"k\u{FC}che\""),
        ("a\r\nb\u{1B}[2J", #""a\u{D}\u{A}b\u{1B}[2J""#),
        ("\u{9B}\u{202E}\u{2028}\u{FEFF}", #""\u{9B}\u{202E}\u{2028}\u{FEFF}""#), ("", #""""#),
    ])
    func whatHasNoShapeIsEscaped(text: String, shown: String) {
        #expect(ShownText.quoted(text) == shown)
    }

    @Test func aLongTextIsCut() {
        #expect(ShownText.quoted(String(repeating: "x", count: 128)).count == 130)
        #expect(ShownText.quoted(String(repeating: "x", count: 129)).hasSuffix("xxx\"..."))
    }
}
