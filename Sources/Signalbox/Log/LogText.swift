/// Text from outside, made safe to be one line of a log: control characters, line and paragraph separators and the marks
/// that turn the direction of writing are shown as `\u{...}`.
enum LogText {
    /// The text without secrets, in one line.
    static func shown(_ text: String) -> String {
        escaped(Redaction.redacted(text))
    }

    static func escaped(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isUnsafe) else { return text }
        var escaped = ""
        for scalar in text.unicodeScalars {
            if isUnsafe(scalar) {
                escaped += "\\u{\(String(scalar.value, radix: 16))}"
            } else {
                escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }

    private static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7f..<0xa0, 0x2028, 0x2029: true
        case 0x61c, 0x200e, 0x200f, 0x202a...0x202e, 0x2066...0x2069, 0xfeff: true
        default: false
        }
    }
}
