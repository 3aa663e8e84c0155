import Metrics
import SignalboxCore
import Synchronization

/// The metrics of one source, made once.
final class SourceMetrics: Sendable {
    let repeats: Counter
    let deadLetters: Counter
    private let lateReturns: Counter
    private let windowArrivals: Meter
    private let windowBytes: Meter
    private let lateReturnsTold = Mutex(0)

    init(source: String, maker: MetricMaker) {
        repeats = maker.counter(.repeats, [source])
        deadLetters = maker.counter(.deadLetters, [source])
        lateReturns = maker.counter(.lateReturns, [source])
        windowArrivals = maker.meter(.windowArrivals, [source])
        windowBytes = maker.meter(.windowBytes, [source])
    }

    /// - Parameter window: `nil` of a source that was removed, which has nothing inside any more.
    func tell(_ counts: OutcomeCounts, _ window: WindowUse?) {
        let new = lateReturnsTold.withLock { told in
            defer { told = max(told, counts.lateReturns) }
            return max(0, counts.lateReturns - told)
        }
        if new > 0 { lateReturns.increment(by: new) }
        windowArrivals.set(window?.arrivals ?? 0)
        windowBytes.set(window?.bytes ?? 0)
    }
}
