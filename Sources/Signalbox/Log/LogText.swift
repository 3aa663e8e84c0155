import SignalboxCore

/// Text from outside, made safe to be one line of a log: control characters, line and paragraph separators and the marks
/// that turn the direction of writing are shown as `\u{...}`.
enum LogText {
    /// The text without secrets, in one line.
    static func shown(_ text: String) -> String {
        escaped(Redaction.redacted(text))
    }

    static func escaped(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: \.isUnsafeInLine) else { return text }
        var escaped = ""
        for scalar in text.unicodeScalars {
            if scalar.isUnsafeInLine {
                escaped += scalar.lineEscape
            } else {
                escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
