/// Text from a page, made safe to be one line of a log: control characters, line and paragraph separators and the marks
/// that turn the direction of writing are shown as `\u{...}`; what is over 4 KiB is cut off.
enum LineText {
    static let longest = 4_096

    static func escaped(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            if isUnsafe(scalar) {
                escaped += "\\u{\(String(scalar.value, radix: 16))}"
            } else {
                escaped.unicodeScalars.append(scalar)
            }
            if escaped.utf8.count > longest - 3 { return cut(escaped) }
        }
        return escaped
    }

    private static func cut(_ text: String) -> String {
        var text = text
        while text.utf8.count > longest - 3 { text.unicodeScalars.removeLast() }
        return text + "…"
    }

    private static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7f..<0xa0, 0x2028, 0x2029: true
        case 0x200e, 0x200f, 0x202a...0x202e, 0x2066...0x2069: true
        default: false
        }
    }
}
