import SignalboxCore

/// Makes any text safe to show in one line: what could break the line, move the cursor or turn the writing direction is
/// written as an escape.
enum LineEscape {
    /// The text with `\n`, `\r`, `\t`, `\e` and `\u{…}` in place of control and direction characters. Backslashes stay,
    /// so the form is for people and is not meant to be read back.
    static func escaped(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isUnsafe) else { return text }
        var line = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\n": line += "\\n"
            case "\r": line += "\\r"
            case "\t": line += "\\t"
            case "\u{1B}": line += "\\e"
            case _ where isUnsafe(scalar): line += scalar.lineEscape
            default: line.unicodeScalars.append(scalar)
            }
        }
        return line
    }

    /// C0, DEL, C1, the line and paragraph separators, the characters that override writing direction, and the
    /// byte order mark, which readers drop.
    static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool { scalar.isUnsafeInLine }
}
