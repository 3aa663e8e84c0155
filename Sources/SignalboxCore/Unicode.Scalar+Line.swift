extension Unicode.Scalar {
    /// Whether the scalar could break a line, move a cursor, change the text direction or be dropped on display. These
    /// are the C0 and C1 control characters, DEL, the line and paragraph separators, the directional marks (Unicode,
    /// UAX #9) and the byte order mark.
    package var isUnsafeInLine: Bool {
        switch value {
        case 0..<0x20, 0x7F..<0xA0, 0x2028, 0x2029: true
        case 0x61C, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069, 0xFEFF: true
        default: false
        }
    }

    /// The escape that replaces an unsafe scalar in a line, such as `\u{1b}`.
    package var lineEscape: String { "\\u{\(String(value, radix: 16))}" }
}
