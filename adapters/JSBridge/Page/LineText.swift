import SignalboxCore

/// Text from a page, made safe to be one line of a log: control characters, line and paragraph separators and the marks
/// that turn the direction of writing are shown as `\u{...}`; what is over 4 KiB is cut off.
enum LineText {
    static let longest = 4_096

    static func escaped(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            if scalar.isUnsafeInLine {
                escaped += scalar.lineEscape
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
}
