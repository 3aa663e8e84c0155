/// Lets one log line of a kind through per minute and counts the others.
///
/// At most 64 kinds are told apart; with more, all are forgotten, so that a line may come early but memory stays small.
package struct LogLimit {
    private struct Kind {
        var last: ContinuousClock.Instant
        var suppressed = 0
    }

    private static let interval: Duration = .seconds(60)
    private static let bound = 64
    private var kinds: [String: Kind] = [:]

    /// Knows no kind yet.
    package init() {}

    /// - Returns: how many lines of the kind were withheld since the last one, or `nil` when this one is, too.
    package mutating func admit(_ kind: String, at now: ContinuousClock.Instant) -> Int? {
        guard let known = kinds[kind] else {
            if kinds.count == LogLimit.bound { kinds.removeAll() }
            kinds[kind] = Kind(last: now)
            return 0
        }
        guard now - known.last >= LogLimit.interval else {
            kinds[kind]?.suppressed += 1
            return nil
        }
        kinds[kind] = Kind(last: now)
        return known.suppressed
    }
}
