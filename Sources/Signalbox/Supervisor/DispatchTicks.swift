import Dispatch

/// The ticks of the system's clock, on a queue of their own: plugins that block every thread of the pool do not stop them.
final class DispatchTicks {
    private let timer: any DispatchSourceTimer

    /// Begins at once.
    ///
    /// - Parameter tick: called on the queue, one call after the other.
    /// - Returns: `nil` when the clock is not the system's continuous one, and only the clock itself can say when.
    init?(_ clock: any Clock<Duration>, every interval: Duration, tick: @escaping @Sendable () -> Void) {
        guard clock is ContinuousClock else { return nil }
        let (seconds, attoseconds) = interval.components
        let nanoseconds = min(Int(clamping: seconds), 86_400) * 1_000_000_000 + Int(attoseconds / 1_000_000_000)
        let queue = DispatchQueue(label: "signalbox.ticks", qos: .userInitiated)
        timer = DispatchSource.makeTimerSource(queue: queue)
        timer.schedule(deadline: .now() + .nanoseconds(nanoseconds), repeating: .nanoseconds(nanoseconds))
        timer.setEventHandler(handler: tick)
        timer.resume()
    }

    /// No tick begins any more; one may still be in progress.
    func stop() { timer.cancel() }
}
