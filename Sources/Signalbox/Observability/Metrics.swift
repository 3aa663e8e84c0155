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

/// The metrics that have been made, found by source and plugin without making anything. Any thread.
final class MetricCache: Sendable {
    /// A source, and the plugin that an arrival of it was meant for.
    private struct Pair: Hashable {
        let source: SourceName
        let plugin: ActionName?
    }

    private struct State {
        var pairs: [Pair: PluginMetrics] = [:]
        var sources: [SourceName: SourceMetrics] = [:]
        /// What was asked for last: arrivals come in runs.
        var last: (pair: Pair, metrics: PluginMetrics)?
        /// For all that is over the limit.
        var other: PluginMetrics?
        var otherSource: SourceMetrics?
    }

    let maker: MetricMaker
    private let limit: Int
    private let state = Mutex(State())

    init(maker: MetricMaker, limit: Int) {
        self.maker = maker
        self.limit = limit
    }

    /// - Parameter plugin: the name that the plugin is registered for, in the registration's own memory; it is kept.
    func metrics(of source: SourceName, _ plugin: ActionName?) -> PluginMetrics {
        state.withLock { state in
            if let last = state.last, last.pair.source == source, MetricCache.areEqual(last.pair.plugin, plugin) {
                return last.metrics
            }
            let pair = Pair(source: source, plugin: plugin)
            if let known = state.pairs[pair] {
                state.last = (Pair(source: source, plugin: plugin), known)
                return known
            }
            return make(pair, &state)
        }
    }

    func metrics(of source: SourceName) -> SourceMetrics {
        state.withLock { state in
            if let known = state.sources[source] { return known }
            guard state.sources.count < limit else {
                let other = state.otherSource ?? SourceMetrics(source: MetricLabel.other, maker: maker)
                state.otherSource = other
                return other
            }
            let made = SourceMetrics(source: source.text, maker: maker)
            state.sources[source] = made
            return made
        }
    }

    private func make(_ pair: Pair, _ state: inout State) -> PluginMetrics {
        guard state.pairs.count < limit else {
            let other =
                state.other ?? PluginMetrics(source: MetricLabel.other, plugin: MetricLabel.other, maker: maker)
            state.other = other
            return other
        }
        let plugin = pair.plugin?.text ?? MetricLabel.noPlugin
        let made = PluginMetrics(source: pair.source.text, plugin: plugin, maker: maker)
        state.pairs[pair] = made
        state.last = (pair, made)
        return made
    }

    private static func areEqual(_ left: ActionName?, _ right: ActionName?) -> Bool {
        guard let left, let right else { return left == nil && right == nil }
        // The same registration, nearly always.
        let (own, other) = (left.bytes, right.bytes)
        if own.storage === other.storage, own.start == other.start, own.length == other.length { return true }
        return left.bytes.withUnsafeBytes { left in
            right.bytes.withUnsafeBytes { ByteComparison.areEqual(left, $0) }
        }
    }
}

/// The metrics of one source and one plugin, made once.
final class PluginMetrics: Sendable {
    let attempts: Counter
    let duration: Timer
    private let handled: Counter
    /// By code, as they first occur: there are about a dozen.
    private let others = Mutex<[String: Counter]>([:])
    private let maker: MetricMaker
    private let source: String
    private let plugin: String

    init(source: String, plugin: String, maker: MetricMaker) {
        self.maker = maker
        self.source = source
        self.plugin = plugin
        attempts = maker.counter(.attempts, [source, plugin])
        duration = maker.timer(.callDuration, [source, plugin])
        handled = maker.counter(.outcomes, [source, plugin, "handled", "handled"])
    }

    func count(_ outcome: Outcome) {
        if case .handled = outcome {
            handled.increment()
        } else {
            counter(for: outcome).increment()
        }
    }

    private func counter(for outcome: Outcome) -> Counter {
        let code = outcome.code
        return others.withLock { others in
            if let known = others[code] { return known }
            let counter = maker.counter(.outcomes, [source, plugin, outcome.name, code])
            others[code] = counter
            return counter
        }
    }
}

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

/// Makes the metrics of ``MetricName`` with their labels.
struct MetricMaker: Sendable {
    let factory: any MetricsFactory

    /// - Parameter values: one for each label of the metric, in order.
    func counter(_ name: MetricName, _ values: [String] = []) -> Counter {
        Counter(label: name.rawValue, dimensions: MetricMaker.dimensions(name, values), factory: factory)
    }

    func timer(_ name: MetricName, _ values: [String]) -> Timer {
        Timer(label: name.rawValue, dimensions: MetricMaker.dimensions(name, values), factory: factory)
    }

    func meter(_ name: MetricName, _ values: [String] = []) -> Meter {
        Meter(label: name.rawValue, dimensions: MetricMaker.dimensions(name, values), factory: factory)
    }

    private static func dimensions(_ name: MetricName, _ values: [String]) -> [(String, String)] {
        zip(name.labels, values).map { ($0.rawValue, $1) }
    }
}
