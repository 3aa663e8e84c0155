/// Finds out whether a silent peer is still there. Time in which nothing is read does not count, as an answer would not be
/// seen either: a connection that is paused is no dead one.
struct Heartbeat {
    enum Advice: Equatable {
        case nothing
        /// Ask the peer for a sign of life.
        case ping
        /// It was asked and gave none.
        case dead
    }

    private let pingAfter: Duration
    private let pongWithin: Duration
    private var last: ContinuousClock.Instant
    private var hasHeard = false
    private var wasPaused = false
    private var silence = Duration.zero
    private var sincePing: Duration?
    private var isOverdue = false

    init(pingAfter: Duration, pongWithin: Duration, now: ContinuousClock.Instant) {
        self.pingAfter = pingAfter
        self.pongWithin = pongWithin
        last = now
    }

    /// Something came, whatever it was.
    mutating func hear() {
        hasHeard = true
    }

    /// Called regularly.
    ///
    /// - Parameter isPaused: whether the connection is not read at present.
    mutating func tick(_ now: ContinuousClock.Instant, isPaused: Bool) -> Advice {
        let passed = now - last
        last = now
        defer { wasPaused = isPaused }
        if hasHeard {
            hasHeard = false
            silence = .zero
            sincePing = nil
            isOverdue = false
            return .nothing
        }
        if isPaused || wasPaused {
            isOverdue = false
            return .nothing
        }
        guard let waited = sincePing else { return silent(for: passed) }
        sincePing = waited + passed
        guard waited + passed >= pongWithin else { return .nothing }
        // Not before the next time: when the thread or the machine slept, the answer is there and was not read yet.
        defer { isOverdue = true }
        return isOverdue ? .dead : .nothing
    }

    private mutating func silent(for passed: Duration) -> Advice {
        silence += passed
        guard silence >= pingAfter else { return .nothing }
        sincePing = .zero
        return .ping
    }
}
