import Logging
import SignalboxCore
import Synchronization

extension SupervisorCore {
    /// Tells of dead letters that the store dropped, at most once a minute.
    ///
    /// - Parameter now: the tick, or `nil` at the end of the run.
    func tellOfDrops(at now: UInt64? = nil) {
        let dropped = deadLetters.dropped
        let count = drops.withLock { $0.take(of: dropped, at: now) }
        guard count > 0 else { return }
        logger.write(
            .dropped,
            nil,
            [
                .dropped: "\(count)", .droppedInAll: "\(dropped)",
                .advice:
                    "find out why so much is not handled, raise the store's limits, or keep them elsewhere by its stream",
            ]
        )
    }
}
