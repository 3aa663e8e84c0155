/// Keeps the broker patient while a batch is held: a ping each half keepalive, as nothing else may be sent meanwhile.
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

    /// How long to wait at most.
    func limit(at now: ContinuousClock.Instant) -> Duration {
        max(.zero, next - now)
    }

    mutating func isDue(at now: ContinuousClock.Instant) -> Bool {
        guard now >= next else { return false }
        next = now + interval
        return true
    }
}
