/// Keeps the broker patient while messages are handled: a ping each half keepalive, past the library's queue.
struct HoldPings {
    /// Whether the connection still stood when it was looked at.
    var isConnected = true
    private let interval: Duration
    private var next: ContinuousClock.Instant

    /// - Parameter keepalive: zero for no pings.
    init(keepalive: Duration, from start: ContinuousClock.Instant) {
        interval = keepalive == .zero ? .seconds(86_400) : keepalive / 2
        next = start + interval
    }

    /// How long to wait at most; without a connection no ping is ever due, and the wait is for a wake-up only.
    func limit(at now: ContinuousClock.Instant) -> Duration {
        isConnected ? max(.zero, next - now) : .seconds(60)
    }

    mutating func isDue(at now: ContinuousClock.Instant) -> Bool {
        guard isConnected, now >= next else { return false }
        next = now + interval
        return true
    }
}
