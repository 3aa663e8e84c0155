/// A limiter of log lines per second that counts the excess. It reads no clock: the caller passes the second.
struct LogRateLimiter: Sendable {
    let linesPerSecond: Int
    private var second: Int64 = .min
    private var used = 0
    private var withheld = 0

    init(linesPerSecond: Int) {
        self.linesPerSecond = linesPerSecond
    }

    enum Decision: Equatable {
        /// The line may be written; `withheldBefore` lines were withheld since the last one.
        case write(withheldBefore: Int)
        case withhold
    }

    mutating func admit(inSecond now: Int64) -> Decision {
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

    /// Returns the number of withheld lines not yet reported, and resets it.
    mutating func takeWithheld() -> Int {
        defer { withheld = 0 }
        return withheld
    }
}

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
