/// When a log line tells of dead letters that were dropped: at most once a minute. Pure.
struct DropReport: Sendable {
    let ticksBetweenLines: UInt64
    private var told = 0
    private var lastTick: UInt64?

    init(ticksBetweenLines: UInt64) {
        self.ticksBetweenLines = ticksBetweenLines
    }

    /// How many a line is to tell of now, 0 for no line.
    ///
    /// - Parameters:
    ///   - dropped: how many were dropped in all.
    ///   - now: the tick, or `nil` at the end, when nobody will ask again.
    mutating func take(of dropped: Int, at now: UInt64?) -> Int {
        guard dropped > told else { return 0 }
        if let now, let lastTick, now < lastTick + ticksBetweenLines { return 0 }
        lastTick = now
        defer { told = dropped }
        return dropped - told
    }
}
