/// Decides when a connection needs a PINGREQ and when its broker must be considered dead.
///
/// The client must send a packet in each keepalive interval (MQTT 5.0, 3.1.2.10, MQTT-3.1.2-20), and a broker that
/// sends nothing must be noticed. A ping is therefore due after half of the interval without sent bytes, and also after
/// half of the interval without received bytes. The broker is dead if nothing has arrived for one and a half intervals,
/// and for a whole interval after a ping: a process that was suspended for longer must not take the connection for dead
/// before it has asked.
///
/// While the connection does not read, the answers may be queued behind unread messages. Pings are then still sent, but
/// their answers are not expected.
///
/// The clock does not read the time, so the caller passes it. Both a time that does not advance and one that jumps are
/// accepted.
struct KeepaliveClock {
    enum Action {
        case none
        /// Send a PINGREQ now. The clock counts it as sent.
        case ping
        /// End the connection.
        case dead
    }

    private struct Interval {
        let whole, half, oneAndHalf: Duration

        init(_ whole: Duration) {
            (self.whole, half, oneAndHalf) = (whole, whole / 2, whole * 3 / 2)
        }
    }

    /// The keepalive interval with its parts, which each turn needs, or `nil` if keepalive is switched off.
    private var interval: Interval?
    private var writtenAt: ContinuousClock.Instant
    private var readAt: ContinuousClock.Instant
    /// When the ping was sent that nothing has followed yet.
    private var askedAt: ContinuousClock.Instant?
    private(set) var isReading = true
    /// When the connection began to read, or resumed it.
    private(set) var readingSince: ContinuousClock.Instant

    /// - Parameters:
    ///   - keepalive: The interval that CONNECT announces. Zero switches keepalive off.
    ///   - now: The time at which CONNECT was sent.
    init(keepalive: Duration, at now: ContinuousClock.Instant) {
        interval = keepalive > .zero ? Interval(keepalive) : nil
        writtenAt = now
        readAt = now
        readingSince = now
    }

    /// Replaces the interval by the broker's (Server Keep Alive; MQTT 5.0, 3.2.2.3.14, MQTT-3.2.2-21).
    mutating func use(serverKeepalive seconds: UInt16) {
        interval = seconds > 0 ? Interval(.seconds(Int64(seconds))) : nil
    }

    /// Records received bytes, whether or not they complete a packet.
    mutating func read(at now: ContinuousClock.Instant) {
        readAt = now
        askedAt = nil
    }

    /// Records bytes that the connection has accepted.
    mutating func written(at now: ContinuousClock.Instant) {
        writtenAt = now
    }

    /// Sets whether the connection reads, which it does at first. After a pause, the broker has the whole time again.
    mutating func setReading(_ isReading: Bool, at now: ContinuousClock.Instant) {
        guard isReading != self.isReading else { return }
        self.isReading = isReading
        readingSince = now
        read(at: now)
    }

    /// Returns what is due. Call this method in each turn, after the turn's reads and writes.
    mutating func check(at now: ContinuousClock.Instant) -> Action {
        guard let interval else { return .none }
        if let deadline = deadline(interval), now >= deadline { return .dead }
        let isUnheard = isReading && askedAt == nil && now - readAt >= interval.half
        guard isUnheard || now - writtenAt >= interval.half else { return .none }
        writtenAt = now
        if isReading && askedAt == nil { askedAt = now }
        return .ping
    }

    /// When ``check(at:)`` next has something to do if nothing is sent or received until then, or `nil` if never.
    var nextCheck: ContinuousClock.Instant? {
        guard let interval else { return nil }
        var next = writtenAt + interval.half
        if isReading { next = min(next, deadline(interval) ?? (readAt + interval.half)) }
        return next
    }

    /// When the broker is dead if nothing arrives until then, or `nil` if no ping waits for an answer.
    private func deadline(_ interval: Interval) -> ContinuousClock.Instant? {
        askedAt.map { max($0 + interval.whole, readAt + interval.oneAndHalf) }
    }
}
