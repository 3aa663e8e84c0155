import AdapterSupport

/// Decides when a connection's thread should sleep for a moment before its next turn, so that it handles several
/// messages or acknowledgements with one wake-up.
///
/// Under load, waking the thread costs more than a message. The thread therefore naps if reads, or flushes of
/// acknowledgements, follow each other within the bound, and only after a turn that had such work. The first message
/// after a pause as long as the bound is never delayed, and neither is an isolated message with its acknowledgement.
///
/// The coalescer does not read a clock, so the caller passes the times.
struct Coalescer {
    /// One kind of work, and how it followed the previous work of its kind.
    private struct Work {
        /// When the last turn that had such work ended.
        var turnEndedAt: ContinuousClock.Instant?
        var isInTurn = false
        var isFrequent = false

        mutating func happened(at now: ContinuousClock.Instant, within bound: Duration) {
            guard !isInTurn else { return }
            isInTurn = true
            isFrequent = turnEndedAt.map { now - $0 <= bound } ?? false
        }

        /// - Returns: Whether the turn had frequent work.
        mutating func turnEnded(at now: ContinuousClock.Instant) -> Bool {
            guard isInTurn else { return false }
            isInTurn = false
            turnEndedAt = now
            return isFrequent
        }
    }

    private let bound: Duration?
    private var reads = Work()
    private var flushes = Work()

    /// - Parameter bound: The most by which a message may be delayed, or `nil` or zero to never nap.
    init(_ bound: Duration?) {
        self.bound = bound.flatMap { $0 > .zero ? $0 : nil }
    }

    /// Records a read. A read of no bytes is no work.
    mutating func read(_ bytes: Int, at now: ContinuousClock.Instant) {
        if let bound, bytes > 0 { reads.happened(at: now, within: bound) }
    }

    /// Records acknowledgements that were written in this turn. None is no work.
    mutating func flushed(_ count: Int, at now: ContinuousClock.Instant) {
        if let bound, count > 0 { flushes.happened(at: now, within: bound) }
    }

    /// Ends the turn. Call this method exactly once in each turn, as the last step before the thread waits.
    ///
    /// - Parameter isDrained: Whether the thread may nap. Pass `false` if the link may have more bytes, if
    ///   anything waits to be written, while the thread must stop, and while messages are delivered one by one.
    /// - Returns: How long to sleep before the next turn, or `nil` to wait for the next event at once. A system with
    ///   coarse timers sleeps longer than it was asked to, so this is less than a third of the bound.
    mutating func nap(at now: ContinuousClock.Instant, isDrained: Bool) -> Duration? {
        let readsAreFrequent = reads.turnEnded(at: now)
        let flushesAreFrequent = flushes.turnEnded(at: now)
        guard let bound, isDrained, readsAreFrequent || flushesAreFrequent else { return nil }
        return bound * 3 / 10
    }
}

extension Duration {
    /// Sleeps on the calling thread. Nothing but a POSIX signal interrupts the sleep.
    func sleep() {
        let (seconds, attoseconds) = components
        var time = timespec(tv_sec: Int(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
        nanosleep(&time, nil)
    }
}
