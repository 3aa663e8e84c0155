/// Tracks how much of a running count has already been reported. At most one report is due every ``ticksBetweenLines``
/// ticks, and no clock is read.
struct CountReport: Sendable {
    var ticksBetweenLines: UInt64 = 0
    private(set) var reported = 0
    private(set) var lastTick: UInt64?

    /// Returns how much the count has grown since the last report, or 0 if no report is due.
    ///
    /// - Parameters:
    ///   - total: The running count.
    ///   - now: The current tick, or `nil` for a report that is always due, such as the final one.
    mutating func take(of total: Int, at now: UInt64? = nil) -> Int {
        guard total > reported else { return 0 }
        if let now, let lastTick, now < lastTick + ticksBetweenLines { return 0 }
        lastTick = now
        defer { reported = total }
        return total - reported
    }
}
