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
