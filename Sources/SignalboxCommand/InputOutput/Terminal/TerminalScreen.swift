/// The control sequences of a terminal's screen (ECMA-48).
enum TerminalScreen {
    /// Clears the screen, and begins at its upper left corner.
    static let home = Array("\u{1B}[H\u{1B}[2J".utf8)

    /// Returns what replaces the lines on the screen by others. The lines must fit on it.
    static func frame(_ lines: [String]) -> [UInt8] {
        Array(("\u{1B}[H" + lines.map { "\($0)\u{1B}[K" }.joined(separator: "\r\n") + "\u{1B}[J").utf8)
    }
}
