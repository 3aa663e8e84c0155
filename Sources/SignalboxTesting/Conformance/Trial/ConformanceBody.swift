/// What the suite's messages carry: a number, and text that is hard on whoever copies it.
struct ConformanceBody: Codable, Sendable, Hashable {
    let number: Int
    let text: String

    init(_ number: Int) {
        self.number = number
        let piece = ["plain", "Gr\u{FC}\u{DF}e", "\"quoted\" \\ /", "line\nbreak\ttab", "\u{1F600}", ""][number % 6]
        text = String(repeating: piece, count: 1 + number % 40)
    }

    /// A body whose text has so many bytes, at least 20.
    ///
    /// Almost all of them are ASCII, so that the message stays as long when its form escapes other characters; the last
    /// ones are not, so that a text that was cut short may end amid a character.
    init(_ number: Int, textBytes: Int) {
        self.number = number
        let end = " Gr\u{FC}\u{DF}e \u{1F600}"
        text = String(repeating: "p", count: max(0, textBytes - end.utf8.count)) + end
    }
}
