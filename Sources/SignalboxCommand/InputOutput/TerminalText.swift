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

/// Formats and reads calendar time as RFC 3339 text.
enum WallTimeText {
    /// Returns text such as `2026-01-31T23:59:59.123Z`.
    static func utc(_ time: WallTime) -> String {
        "\(secondsText(time)).\(String(1_000 + time.nanoseconds / 1_000_000).dropFirst())Z"
    }

    /// Returns text such as `2026-01-31T23:59:59.123456789Z`, from which ``time(in:)`` reads the same time.
    static func exact(_ time: WallTime) -> String {
        "\(secondsText(time)).\(String(1_000_000_000 + time.nanoseconds).dropFirst())Z"
    }

    private static func secondsText(_ time: WallTime) -> String {
        var seconds = time_t(time.seconds)
        var date = tm()
        gmtime_r(&seconds, &date)
        return String(unsafeUninitializedCapacity: 64) { buffer in
            buffer.withMemoryRebound(to: CChar.self) { text in
                text.baseAddress.map { strftime($0, text.count, "%Y-%m-%dT%H:%M:%S", &date) } ?? 0
            }
        }
    }

    /// Returns the time in a text such as `2026-01-31T23:59:59Z` or `2026-01-31T23:59:59.5+01:00`, or `nil` if the text has another form.
    static func time(in text: String) -> WallTime? {
        let form = /(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:Z|([+-])(\d\d):(\d\d))/
            .asciiOnlyDigits()
        guard let match = text.wholeMatch(of: form)?.output else { return nil }
        let number = { (text: Substring?) in text.flatMap { Int32($0) } ?? 0 }
        var date = tm()
        (date.tm_year, date.tm_mon, date.tm_mday) = (number(match.1) - 1900, number(match.2) - 1, number(match.3))
        (date.tm_hour, date.tm_min, date.tm_sec) = (number(match.4), number(match.5), number(match.6))
        let (month, day) = (date.tm_mon, date.tm_mday)
        let seconds = timegm(&date)
        // A day that the month does not have becomes one of the next month.
        let isDate = (date.tm_mon, date.tm_mday) == (month, day) && number(match.5) < 60 && number(match.6) < 60
        guard isDate, number(match.9) < 24, number(match.10) < 60 else { return nil }
        let offset = Int64(number(match.9) * 3_600 + number(match.10) * 60) * (match.8 == "-" ? -1 : 1)
        let digits = match.7 ?? ""
        let fraction = digits + String(repeating: "0", count: 9 - digits.count)
        return WallTime(seconds: Int64(seconds) - offset, nanoseconds: UInt32(fraction) ?? 0)
    }

    /// Returns the time of day, such as `23:59:59.123Z`.
    static func time(_ time: WallTime) -> String {
        String(utc(time).dropFirst(11))
    }
}
