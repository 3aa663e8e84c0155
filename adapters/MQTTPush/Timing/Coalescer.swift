import AdapterSupport

/// Decides when a connection's thread should sleep for a moment before its next turn, so that it handles many messages and
/// their acknowledgements with one wake-up.
///
/// Under load, waking the thread costs more than a message. The thread therefore naps if enough messages are expected to
/// arrive meanwhile, judged by the rate at which they have arrived. Messages at a lower rate are never delayed, and neither
/// is the first message after a pause.
///
/// The coalescer does not read a clock, so the caller passes the times.
struct Coalescer {
    /// The number of messages that a nap must be expected to collect.
    private static let fewest = 4.0
    /// The number of messages after which a longer nap would save little more.
    private static let enough = 48.0

    /// The longest nap, in microseconds, or 0 for none. A system with coarse timers sleeps longer than it was asked to, so
    /// this is less than a third of the bound.
    private let longest: Double
    /// The pause, in microseconds, after which the rate must be measured again. A rate is measured over at least half of
    /// this time.
    private let pause: Double
    /// The messages a microsecond.
    private var rate = 0.0
    private var measuredSince: ContinuousClock.Instant?
    private var count = 0
    private var hasWorked = false
    private var workedAt: ContinuousClock.Instant?

    /// - Parameter bound: The most by which a message may be delayed, or `nil` or zero to never nap.
    init(_ bound: Duration?) {
        pause = max(0, bound?.microseconds ?? 0)
        longest = pause * 3 / 10
    }

    /// Records messages that were received in this turn.
    mutating func received(_ messages: Int) {
        guard longest > 0, messages > 0 else { return }
        hasWorked = true
        count += messages
    }

    /// Records acknowledgements that were written in this turn.
    mutating func flushed(_ acknowledgements: Int) {
        if longest > 0, acknowledgements > 0 { hasWorked = true }
    }

    /// Ends the turn. Call this method exactly once in each turn, as the last step before the thread waits.
    ///
    /// - Parameter isDrained: Whether the thread may nap. Pass `false` if the link may have more bytes, if anything waits to
    ///   be written, and while the thread must stop.
    /// - Returns: How long to sleep before the next turn, or `nil` to wait for the next event at once.
    mutating func nap(at now: ContinuousClock.Instant, isDrained: Bool) -> Duration? {
        guard hasWorked else { return nil }
        hasWorked = false
        measure(at: now)
        guard isDrained, rate * longest >= Coalescer.fewest else { return nil }
        return .nanoseconds(Int(min(longest, Coalescer.enough / rate) * 1_000))
    }

    private mutating func measure(at now: ContinuousClock.Instant) {
        defer { workedAt = now }
        guard let since = measuredSince, let workedAt, (now - workedAt).microseconds <= pause else {
            // The messages of this turn do not count, because nothing is known of the time in which they have arrived.
            (measuredSince, count, rate) = (now, 0, 0)
            return
        }
        let elapsed = (now - since).microseconds
        guard elapsed >= pause / 2 else { return }
        rate = Double(count) / elapsed
        (measuredSince, count) = (now, 0)
    }
}

extension Duration {
    fileprivate var microseconds: Double {
        let (seconds, attoseconds) = components
        return Double(seconds) * 1e6 + Double(attoseconds) / 1e12
    }

    /// Sleeps on the calling thread. Nothing but a POSIX signal interrupts the sleep.
    func sleep() {
        let (seconds, attoseconds) = components
        var time = timespec(tv_sec: Int(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
        nanosleep(&time, nil)
    }
}
