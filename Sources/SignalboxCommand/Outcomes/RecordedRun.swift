/// Counts the outcomes of the lines that were written, and compares the lines with a recorded run.
struct OutcomeSummary: Sendable {
    /// The number of outcomes.
    private(set) var settled = 0
    /// The number of outcomes other than `handled`.
    private(set) var notHandled = 0
    /// The comparison with a recorded run, or `nil` if there is no recorded run.
    private(set) var recorded: RecordedRun?

    /// Counts an outcome and compares its line. The line must not include its newline.
    mutating func count(_ line: ArraySlice<UInt8>, isHandled: Bool) {
        settled += 1
        if !isHandled { notHandled += 1 }
        recorded?.compare(line)
    }

    /// The result of the comparison if no more lines follow, or `nil` if there is no recorded run.
    var comparison: RecordedRun? {
        var whole = recorded
        whole?.end()
        return whole
    }
}

/// Holds the lines of an earlier run, and compares them one by one with the lines of this run.
struct RecordedRun: Sendable {
    /// The maximum number of differences to show. Any others are only counted.
    static let shownDifferences = 10

    private let expected: [[UInt8]]
    private var count = 0
    /// The number of lines that differ, are missing or are extra.
    private(set) var differences = 0
    /// The first differences, up to ``shownDifferences``. Each one shows the expected line and the actual line, aligned
    /// with each other.
    private(set) var shown: [String] = []

    /// - Parameter content: The content of a file with recorded lines.
    init(_ content: [UInt8]) {
        var lines = content.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map(Array.init)
        if lines.last == [] { lines.removeLast() }
        expected = lines
    }

    /// Compares the next line. The line must not include its newline.
    mutating func compare(_ line: ArraySlice<UInt8>) {
        let wanted = count < expected.count ? expected[count] : nil
        count += 1
        if wanted.map({ $0.elementsEqual(line) }) != true { recordDifference(wanted, Array(line)) }
    }

    /// Ends the comparison. Any expected lines that remain are counted as missing.
    mutating func end() {
        while count < expected.count {
            count += 1
            recordDifference(expected[count - 1], nil)
        }
    }

    private mutating func recordDifference(_ wanted: [UInt8]?, _ got: [UInt8]?) {
        differences += 1
        guard differences <= RecordedRun.shownDifferences else { return }
        let text = { (line: [UInt8]?) in line.map { String(decoding: $0, as: UTF8.self) } ?? "no line" }
        shown += ["line \(count): expected \(text(wanted))", "line \(count): got      \(text(got))"]
    }
}
