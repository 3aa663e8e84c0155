/// At most so many log lines in each second; the rest is counted. Pure: the caller says what second it is.
struct LineBudget: Sendable {
    let linesPerSecond: Int
    private var second: Int64 = .min
    private var used = 0
    private var withheld = 0

    init(linesPerSecond: Int) {
        self.linesPerSecond = linesPerSecond
    }

    enum Answer: Equatable {
        /// The line may be written; so many were withheld before it.
        case write(withheldBefore: Int)
        case withhold
    }

    mutating func ask(inSecond now: Int64) -> Answer {
        if now != second {
            second = now
            used = 0
        }
        guard used < linesPerSecond else {
            withheld += 1
            return .withhold
        }
        used += 1
        defer { withheld = 0 }
        return .write(withheldBefore: withheld)
    }

    /// The lines withheld and not yet told of.
    mutating func takeWithheld() -> Int {
        defer { withheld = 0 }
        return withheld
    }
}

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
