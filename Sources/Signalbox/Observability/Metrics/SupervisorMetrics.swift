public import Metrics
import SignalboxCore
import Synchronization

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Counts and times a supervisor's work with swift-metrics.
///
/// Create one instance per supervisor, and add it before plugins are called:
///
/// ```swift
/// supervisor.observe(SupervisorMetrics())
/// ```
///
/// Every call is timed, with all of its middleware, and every outcome is counted, including the outcomes of arrivals that reached
/// no plugin. The metrics are listed in docs/observability.md. Label values never come from a message. Each metric is created
/// only once per source and plugin. An action costs two clock readings and no allocation, and the calls stay where they are:
/// metrics are not middleware, so they do not keep a plugin from running inline.
public final class SupervisorMetrics: ReportObserver {
    /// How many pairs of source and plugin have separate metrics: 4,096. Any further pairs are counted together under
    /// the label `other`.
    public static let seriesLimit = 4_096

    /// What each metric means, by its name, for backends that show it.
    public static var help: [String: String] {
        Dictionary(uniqueKeysWithValues: MetricName.allCases.map { ($0.rawValue, $0.meaning) })
    }

    /// The counter of outcomes, with the labels `source`, `plugin`, `outcome` and `code`.
    package static var outcomesName: String { MetricName.outcomes.rawValue }
    /// The timer of calls, with the labels `source` and `plugin`.
    package static var callDurationName: String { MetricName.callDuration.rawValue }

    private let cache: MetricCache
    private let dropped: Counter
    private let callsStalled: Meter
    /// Made when the supervisor turns out to have a store.
    private let store = Mutex<StoreMetrics?>(nil)
    private let maker: MetricMaker
    private let droppedReported = Mutex(CountReport())

    /// Creates the metrics.
    ///
    /// - Parameter factory: The factory that makes the metrics, or `nil` to use the factory of `MetricsSystem`, which
    ///   must be bootstrapped first.
    public convenience init(factory: (any MetricsFactory)? = nil) {
        self.init(factory: factory ?? MetricsSystem.factory, seriesLimit: SupervisorMetrics.seriesLimit)
    }

    init(factory: any MetricsFactory, seriesLimit: Int) {
        maker = MetricMaker(factory: factory)
        cache = MetricCache(maker: maker, limit: seriesLimit)
        dropped = maker.counter(.deadLettersDropped)
        callsStalled = maker.meter(.callsStalled)
    }

    /// Returns the metrics for a source and a plugin. A lane asks once for all calls of a slice.
    ///
    /// - Parameter plugin: The plugin's registered name, or `nil` for arrivals without a plugin.
    func series(of source: SourceName, _ plugin: ActionName?) -> MetricSeries { cache.series(of: source, plugin) }

    /// Updates the metrics that are not driven by events, such as the use of a window. The supervisor calls this method
    /// once a second. If you need fresher values, call this method with ``Supervisor/report`` before a scrape.
    public func reported(_ report: SupervisorReport) {
        for (source, counts) in report.sources {
            cache.metrics(of: source).record(counts, report.windows[source])
        }
        callsStalled.set(report.callsStillRunning.count)
        if let use = report.storedDeadLetters { storeMetrics.record(use) }
        if let isWritable = report.isStoreWritable { storeMetrics.record(isWritable: isWritable) }
        let new = droppedReported.withLock { $0.take(of: report.deadLettersDropped) }
        if new > 0 { dropped.increment(by: new) }
    }

    private var storeMetrics: StoreMetrics {
        store.withLock { store in
            let metrics = store ?? StoreMetrics(maker: maker)
            store = metrics
            return metrics
        }
    }
}

extension Supervisor {
    /// Counts and times every later call and outcome.
    public func observe(_ metrics: SupervisorMetrics) {
        core.middleware.add(metrics)
    }
}

/// Measures the calls and outcomes of one source and plugin for all ``SupervisorMetrics`` of a supervisor. Without any, it does
/// nothing.
struct CallMeter: Sendable {
    private let series: [MetricSeries]

    init(_ metrics: [SupervisorMetrics], _ source: SourceName, _ plugin: ActionName?) {
        series = metrics.map { $0.series(of: source, plugin) }
    }

    /// Returns the time at which a call starts, or `nil` if nothing is measured.
    func start() -> CallTime? { series.isEmpty ? nil : .now() }

    /// Records the duration of a call that ends now.
    func record(since start: CallTime?) {
        guard let start else { return }
        let nanoseconds = CallTime.now().nanoseconds - start.nanoseconds
        for one in series { one.record(nanoseconds: nanoseconds) }
    }

    /// See ``MetricSeries/count(_:attempts:)``.
    func count(_ outcome: Outcome, attempts: Int) {
        for one in series { one.count(outcome, attempts: attempts) }
    }

    /// See ``MetricSeries/countDuplicate(_:)``.
    func countDuplicate(_ outcome: Outcome) {
        for one in series { one.countDuplicate(outcome) }
    }
}

/// A reading of the system's monotonic clock. Two readings and a difference of `ContinuousClock` would cost half as much again,
/// because each of its values has 128 bits.
struct CallTime: Sendable {
    let nanoseconds: Int64

    static func now() -> CallTime {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return CallTime(nanoseconds: Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec))
    }
}
