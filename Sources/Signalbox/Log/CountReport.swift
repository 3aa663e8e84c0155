/// Decides when a log line reports a running count: at most once every ``ticksBetweenLines``. Pure.
struct CountReport: Sendable {
    let ticksBetweenLines: UInt64
    private var told = 0
    private var lastTick: UInt64?

    init(ticksBetweenLines: UInt64) {
        self.ticksBetweenLines = ticksBetweenLines
    }

    /// How many a line reports now; 0 for no line.
    ///
    /// - Parameters:
    ///   - total: the running count.
    ///   - now: the tick, or `nil` for the last report.
    mutating func take(of total: Int, at now: UInt64?) -> Int {
        guard total > told else { return 0 }
        if let now, let lastTick, now < lastTick + ticksBetweenLines { return 0 }
        lastTick = now
        defer { told = total }
        return total - told
    }
}
