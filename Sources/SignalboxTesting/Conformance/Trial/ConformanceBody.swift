/// What the suite's messages carry: a number, and text that is hard on whoever copies it.
struct ConformanceBody: Codable, Sendable, Hashable {
    let number: Int
    let text: String

    init(_ number: Int) {
        self.number = number
        let piece = ["plain", "Gr\u{FC}\u{DF}e", "\"quoted\" \\ /", "line\nbreak\ttab", "\u{1F600}", ""][number % 6]
        text = String(repeating: piece, count: 1 + number % 40)
    }
}
