/// Counts the outcomes of the lines that were written, and compares those lines with a recorded run.
struct OutcomeSummary: Sendable {
    /// How many were settled.
    private(set) var settled = 0
    /// How many of them were not handled.
    private(set) var notHandled = 0
    private var recorded: RecordedRun?

    /// - Parameter recorded: what the lines should be, or `nil` when nobody said.
    init(recorded: RecordedRun?) {
        self.recorded = recorded
    }

    mutating func count(isHandled: Bool) {
        settled += 1
        if !isHandled { notHandled += 1 }
    }

    mutating func compare(_ line: ArraySlice<UInt8>) {
        recorded?.compare(line)
    }

    /// The comparison, once no line follows; `nil` when there was nothing to compare with.
    var comparison: RecordedRun? {
        var whole = recorded
        whole?.end()
        return whole
    }
}

/// The lines of an earlier run, compared with those of this one as they come.
struct RecordedRun: Sendable {
    /// How many differences are told; more are counted.
    static let shownDifferences = 10

    private let expected: [[UInt8]]
    private var count = 0
    /// How many lines differ, are missing, or are too many.
    private(set) var differences = 0
    /// The first of them.
    private(set) var shown: [RunDifference] = []

    /// - Parameter content: the lines as they were written to a file.
    init(_ content: [UInt8]) {
        var lines = content.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map(Array.init)
        if lines.last == [] { lines.removeLast() }
        expected = lines
    }

    /// Compares the next line, which comes without its newline.
    mutating func compare(_ line: ArraySlice<UInt8>) {
        let wanted = count < expected.count ? expected[count] : nil
        count += 1
        if wanted.map({ $0.elementsEqual(line) }) != true { note(wanted, Array(line)) }
    }

    /// No line follows: what was expected beyond the last one is missing.
    mutating func end() {
        while count < expected.count {
            count += 1
            note(expected[count - 1], nil)
        }
    }

    private mutating func note(_ wanted: [UInt8]?, _ got: [UInt8]?) {
        differences += 1
        guard shown.count < RecordedRun.shownDifferences else { return }
        shown.append(RunDifference(line: count, expected: wanted, got: got))
    }
}

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
