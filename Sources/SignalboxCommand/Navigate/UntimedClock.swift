/// A clock on which no deadline ever passes, and a wait ends only when it is cancelled.
///
/// For handlers that open nothing and so never wait. The system's clock keeps a cancelled wait until its time has come,
/// and a million of them take memory.
struct UntimedClock: Clock {
    private let base = ContinuousClock()

    var now: ContinuousClock.Instant { base.now }
    var minimumResolution: Duration { base.minimumResolution }

    func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
        let cancelled = FirstAnswer<Void>()
        await withTaskCancellationHandler {
            await withCheckedContinuation { cancelled.wait($0) }
        } onCancel: {
            cancelled.give(())
        }
        throw CancellationError()
    }
}
