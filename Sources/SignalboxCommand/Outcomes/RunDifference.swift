/// One line that is not as recorded.
struct RunDifference: Sendable, Hashable {
    /// Counted from 1.
    let line: Int
    /// The recorded line, or `nil` when the recorded run is shorter.
    let expected: [UInt8]?
    /// The line of this run, or `nil` when this run is shorter.
    let got: [UInt8]?

    /// What was expected and what came, one below the other so that the eye finds the place.
    var lines: [String] {
        [
            "line \(line): expected \(RunDifference.text(expected))",
            "line \(line): got      \(RunDifference.text(got))",
        ]
    }

    private static func text(_ line: [UInt8]?) -> String {
        line.map { String(decoding: $0, as: UTF8.self) } ?? "no line"
    }
}
