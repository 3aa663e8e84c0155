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
