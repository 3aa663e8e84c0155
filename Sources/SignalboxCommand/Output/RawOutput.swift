import ArgumentParser

/// How `--raw` writes a payload: verbatim, or escaped so that it cannot control the terminal.
enum RawOutput: String, ExpressibleByArgument, CaseIterable, Sendable {
    /// Escaped where stdout is a terminal.
    case auto
    /// Verbatim everywhere.
    case always
    /// Any other word, which ``validate(_:)`` refuses.
    case unknown

    static let allCases: [RawOutput] = [.auto, .always]

    /// The parser treats a word for which this is `nil` as the next argument, which is right only for a URL.
    init?(argument: String) {
        if argument.contains("://") { return nil }
        self = RawOutput.allCases.first { $0.rawValue == argument } ?? .unknown
    }

    /// - Throws: `ValidationError` for a word that `--raw` does not know.
    static func validate(_ raw: RawOutput?) throws {
        if raw == .unknown { throw ValidationError("--raw is written alone, or as --raw=always") }
    }

    /// - Parameter what: such as "each payload".
    static func help(_ what: String) -> ArgumentHelp {
        ArgumentHelp(
            "Write \(what) as it came, and a newline. On a terminal, control characters are escaped; --raw=always writes them too.",
            valueName: "when"
        )
    }

    /// The bytes and a newline. On a terminal, ``auto`` escapes control characters other than line feeds and tabs, and replaces
    /// invalid UTF-8.
    func line(_ bytes: [UInt8], isTerminal: Bool) -> [UInt8] {
        guard self == .auto, isTerminal else { return bytes + [UInt8(ascii: "\n")] }
        var text = ""
        for scalar in String(decoding: bytes, as: UTF8.self).unicodeScalars {
            if scalar == "\n" || scalar == "\t" || !LineEscape.isUnsafe(scalar) {
                text.unicodeScalars.append(scalar)
            } else {
                text += LineEscape.escaped(String(scalar))
            }
        }
        return Array((text + "\n").utf8)
    }
}
