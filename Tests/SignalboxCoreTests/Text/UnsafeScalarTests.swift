import SignalboxCore
import Testing

@Suite struct UnsafeScalarTests {
    @Test(
        arguments: [
            "\u{0}", "\n", "\r", "\t", "\u{1b}", "\u{1f}", "\u{7f}", "\u{80}", "\u{85}", "\u{9f}", "\u{61c}",
            "\u{200e}",
            "\u{200f}", "\u{2028}", "\u{2029}", "\u{202a}", "\u{202e}", "\u{2066}", "\u{2069}", "\u{feff}",
        ] as [Unicode.Scalar]
    )
    func whatActsOnALineIsUnsafe(_ scalar: Unicode.Scalar) {
        #expect(scalar.isUnsafeInLine)
        #expect(!scalar.lineEscape.unicodeScalars.contains { $0.isUnsafeInLine })
    }

    @Test func allElseIsShown() {
        let safe: [Unicode.Scalar] = [" ", "~", "\u{a0}", "é", "\u{200d}", "\u{2065}", "\u{206a}", "\u{10ffff}", "\\"]
        #expect(!safe.contains { $0.isUnsafeInLine })
        #expect(Unicode.Scalar(0x1b).lineEscape == #"\u{1b}"#)
    }
}
