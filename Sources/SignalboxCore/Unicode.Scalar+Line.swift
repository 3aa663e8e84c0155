extension Unicode.Scalar {
    /// Whether it could break a line, move a cursor, turn the direction of writing or be dropped where a text is shown: the
    /// control characters C0, DEL and C1, the line and paragraph separators, the marks of direction (Unicode, UAX #9) and the
    /// byte order mark.
    package var isUnsafeInLine: Bool {
        switch value {
        case 0..<0x20, 0x7F..<0xA0, 0x2028, 0x2029: true
        case 0x61C, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069, 0xFEFF: true
        default: false
        }
    }

    /// What stands for it in a line where it is unsafe, such as `\u{1b}`.
    package var lineEscape: String { "\\u{\(String(value, radix: 16))}" }
}
