import ArgumentParser
import Foundation
import SignalboxCore

/// Formats text for a terminal. The text is aligned, fits on one line, and has no control characters.
enum TerminalText {
    /// Returns the escaped text, which is padded with spaces to the width. Longer text is not truncated.
    static func column(_ text: String, width: Int) -> String {
        let shown = LineEscape.escaped(text)
        return shown + String(repeating: " ", count: max(0, width - shown.count))
    }

    /// Returns the columns as a line with its newline and without trailing spaces.
    static func line(_ columns: [String]) -> [UInt8] {
        var line = columns.joined(separator: "  ")
        while line.last == " " { line.removeLast() }
        return Array((line + "\n").utf8)
    }

    /// Returns a body as compact JSON or as escaped text. For other bytes, the result is their number.
    static func body(_ body: RawBody) -> String {
        if body.kind == .json { return String(decoding: EscapedJSON.compact(body.bytes), as: UTF8.self) }
        guard let text = body.bytes.text else { return "(\(body.bytes.count) bytes)" }
        return LineEscape.escaped(text)
    }
}

/// The escapes for text in the output of the program.
enum LineEscape {
    private static let named: [Unicode.Scalar: String] = ["\n": "\\n", "\r": "\\r", "\t": "\\t", "\u{1B}": "\\e"]

    /// Returns the text with `\n`, `\r`, `\t`, `\e` and `\u{…}` in place of control and direction characters.
    /// Backslashes are not escaped, so the result cannot be parsed back.
    static func escaped(_ text: String) -> String {
        LineText.escaped(text, escape)
    }

    /// Returns the escape of a control or direction character.
    static func escape(_ scalar: Unicode.Scalar) -> String {
        named[scalar] ?? scalar.lineEscape
    }
}

/// The way in which `--raw` writes a payload, which is either verbatim or escaped so that it cannot control the
/// terminal.
enum RawOutput: String, ExpressibleByArgument, CaseIterable, Sendable {
    /// The payload is escaped if stdout is a terminal.
    case auto
    /// The payload is always written verbatim.
    case always
    /// The user gave another value, which ``validate(_:)`` refuses.
    case unknown

    static let allCases: [RawOutput] = [.auto, .always]

    /// Creates a value from an argument. The result is `nil` only for a URL, because the parser then treats the word as
    /// the next argument.
    init?(argument: String) {
        if argument.contains("://") { return nil }
        self = RawOutput.allCases.first { $0.rawValue == argument } ?? .unknown
    }

    /// - Throws: `ValidationError` if the value is unknown.
    static func validate(_ raw: RawOutput?) throws {
        if raw == .unknown { throw ValidationError("expected --raw or --raw=always") }
    }

    /// - Parameter what: The output that the option concerns, such as "each payload".
    static func help(_ what: String) -> ArgumentHelp {
        ArgumentHelp(
            "Write \(what) unchanged, and a newline. On a terminal, escape control characters; --raw=always does not.",
            valueName: "when"
        )
    }

    /// Returns the bytes and a newline. On a terminal, ``auto`` escapes control characters except line feeds and tabs,
    /// and replaces invalid UTF-8.
    func line(_ bytes: [UInt8], isTerminal: Bool) -> [UInt8] {
        guard self == .auto, isTerminal else { return bytes + [UInt8(ascii: "\n")] }
        let text = LineText.escaped(String(decoding: bytes, as: UTF8.self)) { scalar in
            scalar == "\n" || scalar == "\t" ? String(scalar) : LineEscape.escape(scalar)
        }
        return Array((text + "\n").utf8)
    }
}

/// Formats calendar time as text (RFC 3339), in UTC with milliseconds.
enum WallTimeText {
    /// Returns text such as `2026-01-31T23:59:59.123Z`.
    static func utc(_ time: WallTime) -> String {
        var seconds = time_t(time.seconds)
        var date = tm()
        gmtime_r(&seconds, &date)
        let text = String(unsafeUninitializedCapacity: 64) { buffer in
            buffer.withMemoryRebound(to: CChar.self) { text in
                text.baseAddress.map { strftime($0, text.count, "%Y-%m-%dT%H:%M:%S", &date) } ?? 0
            }
        }
        let milliseconds = String(1_000 + time.nanoseconds / 1_000_000).dropFirst()
        return "\(text).\(milliseconds)Z"
    }

    /// Returns the time of day, such as `23:59:59.123Z`.
    static func time(_ time: WallTime) -> String {
        String(utc(time).dropFirst(11))
    }
}
