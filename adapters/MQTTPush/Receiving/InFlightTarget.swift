/// Bounds the number of unsettled messages of a connection, so that a slow plugin is not given more messages than it
/// can settle within the ack deadline.
///
/// The bound follows the rule of TCP's congestion window: it grows by a factor while messages are settled quickly, and
/// shrinks by a factor when they are not (RFC 5681, 3.1). A connection starts with a few messages, and with one message after a
/// connection on which messages were abandoned.
/// - It doubles after as many messages as the target, one after the other, were settled within an eighth of the ack
///   deadline, if the target limited the connection in the meantime.
/// - It halves when a message takes more than half of the ack deadline. Messages that were added before the target
///   last halved do not halve it again, so that one slow call among fast ones costs one halving.
///
/// The target does not read a clock, so the caller passes the times.
struct InFlightTarget: Equatable {
    /// The maximum number of unsettled messages.
    private(set) var target: Int
    private let bound: Int
    private let start: Int
    // In nanoseconds.
    private let fast: Int64
    private let slow: Int64
    /// The number of messages in a row that were settled quickly since the target last changed.
    private var settledFast = 0
    /// Whether as many messages as the target were unsettled at once since the target last changed.
    private var isReached = false
    private var halvedAt: MonotonicTime?

    /// - Parameters:
    ///   - bound: The maximum target.
    ///   - start: The target of a new connection.
    ///   - ackDeadline: The time within which a plugin must be called, counted from the message's submission.
    init(bound: Int, start: Int = 1, ackDeadline: Duration) {
        self.bound = max(1, bound)
        self.start = min(max(1, start), self.bound)
        target = self.start
        fast = (ackDeadline / 8).clampedNanoseconds
        slow = (ackDeadline / 2).clampedNanoseconds
    }

    /// Begins a new connection.
    ///
    /// - Parameter wasAbandoned: Whether messages of the previous connection were abandoned, so that plugins may be slow.
    mutating func reset(wasAbandoned: Bool = false) {
        target = wasAbandoned ? 1 : start
        restart()
        halvedAt = nil
    }

    /// Records an added message.
    ///
    /// - Parameter unsettled: The number of unsettled messages, including the added one.
    mutating func added(unsettled: Int) {
        if unsettled >= target { isReached = true }
    }

    /// Adapts to a message that was added at one time and settled at another.
    mutating func settled(addedAt: MonotonicTime, at now: MonotonicTime) {
        let duration = now.nanoseconds &- addedAt.nanoseconds
        if duration > slow {
            restart()
            if let halvedAt, addedAt <= halvedAt { return }
            target = max(1, target / 2)
            halvedAt = now
        } else if duration < fast {
            settledFast += 1
            guard settledFast >= target, isReached else { return }
            target = min(bound, target * 2)
            restart()
        } else {
            settledFast = 0
        }
    }

    private mutating func restart() {
        settledFast = 0
        isReached = false
    }
}

extension Duration {
    /// The duration in nanoseconds, or the nearest number that is possible.
    fileprivate var clampedNanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (product, overflows) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        return overflows ? (seconds < 0 ? .min : .max) : product &+ attoseconds / 1_000_000_000
    }
}
