import SignalboxCore
import Testing

@Suite struct NameTests {
    @Test(arguments: ["a", "Z", "payment", "a.b-c_9", "signalbox", "signalboxes.x", String(repeating: "n", count: 64)])
    func validNamesAreAccepted(_ text: String) throws {
        #expect(try ActionName(text).text == text)
    }

    @Test(
        arguments: [
            ("", NameError.empty), (String(repeating: "n", count: 65), .tooLong), ("1a", .invalidCharacter),
            ("a b", .invalidCharacter), ("caf\u{E9}", .invalidCharacter), ("\u{430}ction", .invalidCharacter),
            ("a/b", .invalidCharacter), ("a\n", .invalidCharacter), ("signalbox.x", .reserved),
        ])
    func invalidNamesAreRefused(_ text: String, problem: NameError) {
        #expect(throws: problem) { try ActionName(text) }
    }

    @Test func idsAreBoundedInBytes() {
        #expect(ActionID("") == nil)
        #expect(ActionID(String(repeating: "\u{E9}", count: 64))?.text.utf8.count == 128)
        #expect(ActionID(String(repeating: "\u{E9}", count: 64) + "x") == nil)
    }

    @Test func bytesAreEqualByContent() {
        let bytes = Bytes("abc")
        #expect(bytes == bytes.copied())
        #expect(Set([bytes, Bytes([0x61, 0x62, 0x63])]).count == 1)
        #expect(bytes != Bytes("abd"))
        #expect(Bytes([0xFF]).text == nil)
        #expect(bytes.text == "abc")
        #expect(Array(bytes.reversed()) == [0x63, 0x62, 0x61])
    }
}

@Suite struct DescriptionTests {
    private static let outcomes: [(Outcome, String)] = [
        (.handled(reply: nil), "handled"), (.handled(reply: Bytes(#"{"a":1}"#)), #"handled: {"a":1}"#),
        (.rejected(.init(.unknownAction, detail: "no plugin")), "rejected: unknownAction: no plugin"),
        (.failed(.init(.timeout, detail: "after 1 s")), "failed: timeout: after 1 s"),
        (.abandoned(.drain), "abandoned: drain"), (.abandoned(.givenBack("later")), "abandoned: givenBack: later"),
    ]

    @Test(arguments: outcomes) func anOutcomeIsShownAsText(_ outcome: Outcome, _ expected: String) {
        #expect("\(outcome)" == expected)
    }

    @Test func aBodyIsShownAsJSON() throws {
        let body = try Body(json: Bytes(#" { "a" : [1.50, "b"] } "#))
        #expect(body.description == #"{"a":[1.50,"b"]}"#)
        let name: ActionName = "payment"
        #expect(name.description == "payment")
    }

    @Test func bytesAreShownAsTextOrInHexadecimal() {
        #expect("\(Bytes("caf\u{E9}"))" == "caf\u{E9}")
        #expect("\(Bytes([0xFF, 0x00, 0x0A]))" == "ff 00 0a")
        let long = Bytes([UInt8](repeating: 0xFE, count: 33))
        #expect("\(long)" == [String](repeating: "fe", count: 32).joined(separator: " ") + " \u{2026} (33 bytes)")
    }
}

@Suite struct UnsafeScalarTests {
    @Test(
        arguments: [
            "\u{0}", "\n", "\r", "\t", "\u{1b}", "\u{1f}", "\u{7f}", "\u{80}", "\u{85}", "\u{9f}", "\u{61c}",
            "\u{200e}",
            "\u{200f}", "\u{2028}", "\u{2029}", "\u{202a}", "\u{202e}", "\u{2066}", "\u{2069}", "\u{feff}",
        ] as [Unicode.Scalar]
    )
    func controlAndBidiScalarsAreUnsafe(_ scalar: Unicode.Scalar) {
        #expect(scalar.isUnsafeInLine)
        #expect(!scalar.lineEscape.unicodeScalars.contains { $0.isUnsafeInLine })
    }

    @Test func otherScalarsAreSafe() {
        let safe: [Unicode.Scalar] = [" ", "~", "\u{a0}", "é", "\u{200d}", "\u{2065}", "\u{206a}", "\u{10ffff}", "\\"]
        #expect(!safe.contains { $0.isUnsafeInLine })
        #expect(Unicode.Scalar(0x1b).lineEscape == #"\u{1b}"#)
    }
}
