/// Text from outside, made safe to be part of one line of a log.
enum LineText {
    /// The most characters (Unicode scalars) of one text that are shown.
    static let maximumLength = 512

    /// The text with `\u{...}` in place of control characters, of line and paragraph separators and of the marks that
    /// turn the direction of writing, cut after ``maximumLength``.
    static func line(_ text: String) -> String {
        var line = ""
        var count = 0
        for scalar in text.unicodeScalars {
            guard count < maximumLength else { return line + "…" }
            count += 1
            if isUnsafe(scalar) {
                line += "\\u{\(String(scalar.value, radix: 16))}"
            } else {
                line.unicodeScalars.append(scalar)
            }
        }
        return line
    }

    static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F..<0xA0, 0x2028, 0x2029: true
        case 0x61C, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069, 0xFEFF: true
        default: false
        }
    }
}
