import ArgumentParser
import Foundation
import SignalboxCore

/// Formats text for a terminal: aligned, on one line, without control characters.
enum TerminalText {
    /// Returns the escaped text, padded with spaces to the width. Longer text is not truncated.
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

    /// Returns a body: compact JSON, escaped text, or the number of other bytes.
    static func body(_ body: RawBody) -> String {
        if body.kind == .json { return String(decoding: EscapedJSON.compact(body.bytes), as: UTF8.self) }
        guard let text = body.bytes.text else { return "(\(body.bytes.count) bytes)" }
        return LineEscape.escaped(text)
    }
}

/// The escapes that the command's output uses for text.
enum LineEscape {
    private static let named: [Unicode.Scalar: String] = ["\n": "\\n", "\r": "\\r", "\t": "\\t", "\u{1B}": "\\e"]

    /// Returns the text with `\n`, `\r`, `\t`, `\e` and `\u{…}` in place of control and direction characters.
    /// Backslashes stay, so the result cannot be parsed back.
    static func escaped(_ text: String) -> String {
        LineText.escaped(text) { named[$0] ?? $0.lineEscape }
    }
}

/// How `--raw` writes a payload: verbatim, or escaped so that it cannot control the terminal.
enum RawOutput: String, ExpressibleByArgument, CaseIterable, Sendable {
    /// Escaped if stdout is a terminal.
    case auto
    /// Verbatim everywhere.
    case always
    /// Any other value, which ``validate(_:)`` refuses.
    case unknown

    static let allCases: [RawOutput] = [.auto, .always]

    /// Returns `nil` only for a URL, because the parser then treats the word as the next argument.
    init?(argument: String) {
        if argument.contains("://") { return nil }
        self = RawOutput.allCases.first { $0.rawValue == argument } ?? .unknown
    }

    /// - Throws: `ValidationError` if the value is unknown.
    static func validate(_ raw: RawOutput?) throws {
        if raw == .unknown { throw ValidationError("expected --raw or --raw=always") }
    }

    /// - Parameter what: The output, such as "each payload".
    static func help(_ what: String) -> ArgumentHelp {
        ArgumentHelp(
            "Write \(what) unchanged, and a newline. On a terminal, escape control characters; --raw=always does not.",
            valueName: "when"
        )
    }

    /// Returns the bytes and a newline. On a terminal, ``auto`` escapes control characters other than line feeds and
    /// tabs, and replaces invalid UTF-8.
    func line(_ bytes: [UInt8], isTerminal: Bool) -> [UInt8] {
        guard self == .auto, isTerminal else { return bytes + [UInt8(ascii: "\n")] }
        var text = ""
        for scalar in String(decoding: bytes, as: UTF8.self).unicodeScalars {
            if scalar == "\n" || scalar == "\t" || !scalar.isUnsafeInLine {
                text.unicodeScalars.append(scalar)
            } else {
                text += LineEscape.escaped(String(scalar))
            }
        }
        return Array((text + "\n").utf8)
    }
}

/// Calendar time as text (RFC 3339), in UTC with milliseconds.
enum WallTimeText {
    /// Returns text such as `2026-01-31T23:59:59.123Z`.
    static func utc(_ time: WallTime) -> String {
        let days = Int((Double(time.seconds) / 86_400).rounded(.down))
        let second = Int(time.seconds) - days * 86_400
        let (year, month, day) = date(daysSince1970: days)
        let date = "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))"
        let clock = [second / 3_600, second / 60 % 60, second % 60].map { padded($0, 2) }.joined(separator: ":")
        return "\(date)T\(clock).\(padded(Int(time.nanoseconds) / 1_000_000, 3))Z"
    }

    /// Returns the time of day, such as `23:59:59.123Z`.
    static func time(_ time: WallTime) -> String {
        String(utc(time).dropFirst(11))
    }

    /// Gregorian. Years begin in March, in eras of 400 years, so that the leap day is the last of its year.
    private static func date(daysSince1970 days: Int) -> (year: Int, month: Int, day: Int) {
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        let day = dayOfYear - (153 * marchMonth + 2) / 5 + 1
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
    }

    private static func padded(_ number: Int, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}
