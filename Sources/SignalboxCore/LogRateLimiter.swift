/// Limits the number of log lines per interval, and counts the lines that are withheld.
///
/// The limiter does not read a clock, so the caller passes the time.
package struct LogRateLimiter: Sendable {
    private let lines: Int
    private let interval: Duration
    /// The time of the first line in the current interval.
    private var start: Duration?
    private var used = 0

    /// The number of lines that have been withheld but not yet reported.
    package private(set) var withheld = 0

    /// Creates a limiter that admits a limited number of lines in each interval.
    ///
    /// - Parameters:
    ///   - lines: The maximum number of lines in an interval.
    ///   - interval: The length of an interval. Each interval begins with a line.
    package init(lines: Int, per interval: Duration = .seconds(1)) {
        self.lines = lines
        self.interval = interval
    }

    /// Returns the number of lines withheld since the last admitted line, or `nil` if this line must be withheld too.
    package mutating func admit(at now: Duration) -> Int? {
        if hasPassed(at: now) {
            start = now
            used = 0
        }
        guard used < lines else {
            withheld += 1
            return nil
        }
        used += 1
        return takeWithheld()
    }

    /// Returns the number of withheld lines and resets that number. Call this method to report withheld lines when no
    /// further line is admitted.
    ///
    /// - Parameter now: The current time, or `nil` for the last report. Given a time, the method returns 0 until the
    ///   interval has passed.
    package mutating func takeWithheld(at now: Duration? = nil) -> Int {
        if let now, !hasPassed(at: now) { return 0 }
        defer { withheld = 0 }
        return withheld
    }

    private func hasPassed(at now: Duration) -> Bool {
        start.map { now - $0 >= interval } ?? true
    }
}
