public import Metrics
public import SignalboxCore
import Synchronization

/// Counts and times what a supervisor does, through swift-metrics.
///
/// One for each supervisor, used before plugins are called: `supervisor.use(MetricsMiddleware())`. It counts every outcome,
/// those of arrivals that reached no plugin too, and times each call. docs/observability.md lists the metrics. No label
/// has a value that comes from a message. What it needs is made once for each source and plugin; an action then costs two
/// look-ups and two readings of the clock, and no memory.
public final class MetricsMiddleware: Middleware, OutcomeObserver, ReportObserver {
    /// The most pairs of a source and a plugin that have metrics of their own: 4,096. What is over it is counted together,
    /// with the labels `other`.
    public static let seriesLimit = 4_096

    private let cache: MetricCache
    private let dropped: Counter
    private let callsStalled: Meter
    private let droppedTold = Mutex(0)

    /// - Parameter factory: where the metrics are made; that of `MetricsSystem` at the time of this call when `nil`, so
    ///   bootstrap that before.
    public convenience init(factory: (any MetricsFactory)? = nil) {
        self.init(factory: factory ?? MetricsSystem.factory, seriesLimit: MetricsMiddleware.seriesLimit)
    }

    init(factory: any MetricsFactory, seriesLimit: Int) {
        let maker = MetricMaker(factory: factory)
        cache = MetricCache(maker: maker, limit: seriesLimit)
        dropped = maker.counter(.deadLettersDropped)
        callsStalled = maker.meter(.callsStalled)
    }

    /// Times the call.
    public func handle(_ context: ActionContext, next: MiddlewareNext) async -> Outcome {
        let start = ContinuousClock.now
        let outcome = await next(context)
        let time = (ContinuousClock.now - start).components
        let nanoseconds = time.seconds * 1_000_000_000 + time.attoseconds / 1_000_000_000
        cache.metrics(of: context.origin.source, next.plugin).duration.recordNanoseconds(nanoseconds)
        return outcome
    }

    /// Counts the outcome.
    public func settled(_ arrival: SettledArrival) {
        let source = arrival.arrival.origin.source
        let metrics = cache.metrics(of: source, arrival.plugin)
        metrics.count(arrival.outcome)
        if arrival.isRepeat {
            cache.metrics(of: source).repeats.increment()
            return
        }
        if arrival.attempts > 0 { metrics.attempts.increment(by: arrival.attempts) }
        switch arrival.outcome {
        case .rejected, .failed: cache.metrics(of: source).deadLetters.increment()
        case .handled, .abandoned: break
        }
    }

    /// Writes the metrics that have no event of their own. The supervisor calls it once a second; call it with
    /// ``Supervisor/report`` before a scrape where that is too seldom.
    public func reported(_ report: SupervisorReport) {
        for (source, counts) in report.sources {
            cache.metrics(of: source).tell(counts, report.windows[source])
        }
        callsStalled.set(report.callsStillRunning.count)
        let new = droppedTold.withLock { told in
            defer { told = max(told, report.deadLettersDropped) }
            return max(0, report.deadLettersDropped - told)
        }
        if new > 0 { dropped.increment(by: new) }
    }
}
