/// Makes untrusted text safe to show on one line of a log or a terminal.
package enum LineText {
    /// Returns the text with each character that is unsafe in a line replaced by an escape.
    ///
    /// Backslashes in the text are kept, so the result cannot be parsed back.
    ///
    /// - Parameters:
    ///   - text: Any text.
    ///   - limit: The maximum number of bytes. Anything beyond the limit is replaced by an ellipsis.
    ///   - escape: A closure that returns the escape for an unsafe character, such as `\u{1b}`.
    package static func escaped(
        _ text: String,
        limit: Int = .max,
        _ escape: (Unicode.Scalar) -> String = \.lineEscape
    ) -> String {
        let mark = "…"
        let room = limit - mark.utf8.count
        guard text.utf8.count > room || text.unicodeScalars.contains(where: \.isUnsafeInLine) else { return text }
        var line = ""
        for scalar in text.unicodeScalars {
            let shown = scalar.isUnsafeInLine ? escape(scalar) : String(scalar)
            guard line.utf8.count + shown.utf8.count <= room else { return line + mark }
            line += shown
        }
        return line
    }
}

extension Unicode.Scalar {
    /// Whether the scalar could break a line, move a cursor, change the direction of text or be dropped on display.
    ///
    /// This is true for the C0 and C1 control characters, DEL, the line and paragraph separators, the directional marks
    /// (Unicode, UAX #9) and the byte order mark.
    package var isUnsafeInLine: Bool {
        switch value {
        case 0..<0x20, 0x7F..<0xA0, 0x2028, 0x2029: true
        case 0x61C, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069, 0xFEFF: true
        default: false
        }
    }

    /// The escape to use for an unsafe scalar in a line, such as `\u{1b}`.
    package var lineEscape: String { "\\u{\(String(value, radix: 16))}" }
}
