/// A limit on reports of a running count: at most one every ``ticksBetweenLines``. It reads no clock.
struct CountReport: Sendable {
    let ticksBetweenLines: UInt64
    private var reported = 0
    private var lastTick: UInt64?

    init(ticksBetweenLines: UInt64) {
        self.ticksBetweenLines = ticksBetweenLines
    }

    /// Returns the increase to report, or 0 if no line is due.
    ///
    /// - Parameters:
    ///   - total: The running count.
    ///   - now: The current tick, or `nil` for the final report, which is always due.
    mutating func take(of total: Int, at now: UInt64?) -> Int {
        guard total > reported else { return 0 }
        if let now, let lastTick, now < lastTick + ticksBetweenLines { return 0 }
        lastTick = now
        defer { reported = total }
        return total - reported
    }
}
