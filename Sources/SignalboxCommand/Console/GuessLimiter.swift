/// Slows down clients that guess tokens: after some wrong ones from an address, none of that address is compared for a while.
struct GuessLimiter {
    /// How many wrong tokens an address may send within ``period``.
    static let limit = 10
    static let period = Duration.seconds(60)
    /// How many addresses are remembered. If there are more, the one whose period ends first is forgotten.
    static let capacity = 1_024

    private struct Entry {
        var count: Int
        let end: ContinuousClock.Instant
    }

    private var entries: [String: Entry] = [:]

    /// Whether tokens of the address are refused without a comparison.
    func isBlocked(_ address: String, at now: ContinuousClock.Instant = .now) -> Bool {
        guard let entry = entries[address], now < entry.end else { return false }
        return entry.count >= GuessLimiter.limit
    }

    /// Counts a wrong token.
    mutating func failed(_ address: String, at now: ContinuousClock.Instant = .now) {
        if let entry = entries[address], now < entry.end {
            entries[address]?.count += 1
            return
        }
        if entries.count >= GuessLimiter.capacity { entries = entries.filter { now < $0.value.end } }
        if entries.count >= GuessLimiter.capacity, let first = entries.min(by: { $0.value.end < $1.value.end }) {
            entries[first.key] = nil
        }
        entries[address] = Entry(count: 1, end: now + GuessLimiter.period)
    }
}
