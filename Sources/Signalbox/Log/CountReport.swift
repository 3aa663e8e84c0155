/// The part of a running count that has already been reported. It limits the reports to one every
/// ``ticksBetweenLines``, and reads no clock.
struct CountReport: Sendable {
    var ticksBetweenLines: UInt64 = 0
    private(set) var reported = 0
    private(set) var lastTick: UInt64?

    /// Returns the increase to report, or 0 if no report is due.
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
