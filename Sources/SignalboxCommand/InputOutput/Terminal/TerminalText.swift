import AdapterSupport
import ArgumentParser
import SignalboxCore

/// Formats text for a terminal. The result is aligned, fits on one line, and has no control characters.
enum TerminalText {
    /// Returns the escaped text, padded with spaces to the given width. Longer text is not truncated. Only the text, not the
    /// padding, has the colour, on a terminal that shows colours.
    static func column(_ text: String, width: Int, color: TerminalColor? = nil) -> String {
        let shown = LineEscape.escaped(text)
        return (color?.applied(to: shown) ?? shown) + String(repeating: " ", count: max(0, width - shown.count))
    }

    /// Returns the columns as one line, including its newline but without trailing spaces.
    static func line(_ columns: [String]) -> [UInt8] {
        var line = columns.joined(separator: "  ")
        while line.last == " " { line.removeLast() }
        return Array((line + "\n").utf8)
    }

    /// Returns a body as compact JSON or escaped text. Any other bytes are shown in hexadecimal.
    static func body(_ body: RawBody) -> String {
        if body.kind == .json { return String(decoding: EscapedJSON.compact(body.bytes), as: UTF8.self) }
        guard let text = body.bytes.text else { return binary(body.bytes) }
        return LineEscape.escaped(text)
    }

    /// Returns bytes in hexadecimal. If there are more than 24, the text ends in `…` and their number.
    static func binary(_ bytes: Bytes) -> String { "hex " + bytes.hexadecimal(first: 24) }
}

/// Escapes text for the program's output.
enum LineEscape {
    private static let named: [Unicode.Scalar: String] = ["\n": "\\n", "\r": "\\r", "\t": "\\t", "\u{1B}": "\\e"]

    /// Returns the text with control and direction characters replaced by `\n`, `\r`, `\t`, `\e` and `\u{…}`, and
    /// bytes of an argument that are not UTF-8 by `\xHH` (see ``RawArguments``).
    /// Backslashes are not escaped, so the result cannot be parsed back.
    static func escaped(_ text: String) -> String {
        LineText.escaped(RawArguments.areEscaped ? RawArguments.shown(text) : text, escape)
    }

    /// Returns the escape for a control or direction character.
    static func escape(_ scalar: Unicode.Scalar) -> String {
        named[scalar] ?? scalar.lineEscape
    }

    /// The maximum number of bytes that a scalar takes in a line or in a JSON string, with its escape.
    private static func cost(of scalar: Unicode.Scalar) -> Int {
        if scalar.isUnsafeInLine { return max(escape(scalar).utf8.count, JSONText.escape(scalar)?.utf8.count ?? 0) }
        return scalar == "\"" || scalar == "\\" ? 2 : UTF8.width(scalar)
    }

    /// Returns the maximum number of bytes that the text takes in a line or in a JSON string.
    static func cost(of text: String) -> Int { text.unicodeScalars.reduce(0) { $0 + cost(of: $1) } }

    /// Returns the text, or its beginning and `…` if it takes more than `limit` bytes in a line or in a JSON string.
    static func beginning(of text: String, bytes limit: Int) -> String {
        let mark = "…"
        var (used, end) = (0, text.unicodeScalars.startIndex)
        for index in text.unicodeScalars.indices {
            used += cost(of: text.unicodeScalars[index])
            guard used <= limit else { return String(text.unicodeScalars[..<end]) + mark }
            if used <= limit - mark.utf8.count { end = text.unicodeScalars.index(after: index) }
        }
        return text
    }
}

/// How `--raw` writes a payload: either verbatim, or escaped so that it cannot control the terminal.
enum RawOutput: String, ExpressibleByArgument, CaseIterable, Sendable {
    /// The payload is escaped if stdout is a terminal.
    case auto
    /// The payload is always written verbatim.
    case always
    /// The user gave a different value, which ``validate(_:)`` refuses.
    case unknown

    static let allCases: [RawOutput] = [.auto, .always]

    /// Creates a value from an argument. Returns `nil` only for a URL, because the parser then treats the word as the
    /// next argument.
    init?(argument: String) {
        if argument.contains("://") { return nil }
        self = RawOutput.allCases.first { $0.rawValue == argument } ?? .unknown
    }

    /// - Throws: `ValidationError` if the value is unknown.
    static func validate(_ raw: RawOutput?) throws {
        if raw == .unknown { throw ValidationError("expected --raw or --raw=always") }
    }

    /// Returns the bytes to write. On a terminal, ``auto`` replaces invalid UTF-8 and escapes control
    /// characters other than line feeds and tabs.
    func bytes(_ bytes: [UInt8], isTerminal: Bool) -> [UInt8] {
        guard self == .auto, isTerminal else { return bytes }
        let text = LineText.escaped(String(decoding: bytes, as: UTF8.self)) { scalar in
            scalar == "\n" || scalar == "\t" ? String(scalar) : LineEscape.escape(scalar)
        }
        return Array(text.utf8)
    }
}
