import SignalboxCore

/// Text for people: aligned, in one line, without anything that could act on a terminal.
enum TerminalText {
    /// The text, escaped, with spaces up to the width; longer text stays whole.
    static func column(_ text: String, width: Int) -> String {
        let shown = LineEscape.escaped(text)
        return shown + String(repeating: " ", count: max(0, width - shown.count))
    }

    /// The columns as a line with its newline, and without spaces before that.
    static func line(_ columns: [String]) -> [UInt8] {
        var line = columns.joined(separator: "  ")
        while line.last == " " { line.removeLast() }
        return Array((line + "\n").utf8)
    }

    /// A body: JSON compact, text escaped, other bytes by their number.
    static func body(_ body: RawBody) -> String {
        if body.kind == .json { return String(decoding: JSONText.compact(body.bytes), as: UTF8.self) }
        guard let text = body.bytes.text else { return "(\(body.bytes.count) bytes)" }
        return LineEscape.escaped(text)
    }
}
