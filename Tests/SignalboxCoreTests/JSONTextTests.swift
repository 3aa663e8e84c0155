import TestSupport
import Testing

@testable import SignalboxCore

/// Strings in JSON: what is escaped, wherever it stands.
@Suite struct JSONTextTests {
    /// Escapes character by character.
    private func plainly(_ text: String) -> String {
        "\"" + text.unicodeScalars.map { JSONText.escape($0) ?? String($0) }.joined() + "\""
    }

    @Test func everyCharacterIsEscapedAtEveryPlace() {
        let odd: [Unicode.Scalar] = [
            "\"", "\\", "\u{0}", "\u{1F}", "\u{7F}", "\u{80}", "\u{9F}", "\u{A0}", "é", "\u{7FF}", "\u{2028}",
            "\u{200E}",
            "\u{FEFF}", "\u{FFFF}", "\u{10000}", "😀", "\u{10FFFF}", "\n", " ", "~", "!", "#", "[", "]",
        ]
        for scalar in odd {
            for length in 0..<20 {
                for place in 0...length {
                    var text = String(repeating: "a", count: length).unicodeScalars
                    text.insert(scalar, at: text.index(text.startIndex, offsetBy: place))
                    #expect(JSONText.quoted(String(text)) == plainly(String(text)))
                }
            }
        }
        for value in UInt32(0)...0x2100 {
            guard let scalar = Unicode.Scalar(value) else { continue }
            let text = "abcdefg\(scalar)hijklmnop"
            #expect(JSONText.quoted(text) == plainly(text))
        }
    }

    @Test func mixedTextsAreEscapedAsCharacterByCharacter() {
        var random = SeededGenerator(seed: 7)
        let characters: [Unicode.Scalar] = ["a", "b", " ", "\"", "\\", "\n", "ü", "漢", "😀", "\u{7F}", "\u{2066}"]
        for _ in 0..<2_000 {
            var text = String.UnicodeScalarView()
            for _ in 0..<Int.random(in: 0..<60, using: &random) {
                text.append(characters[Int.random(in: 0..<characters.count, using: &random)])
            }
            #expect(JSONText.quoted(String(text)) == plainly(String(text)))
        }
    }
}
