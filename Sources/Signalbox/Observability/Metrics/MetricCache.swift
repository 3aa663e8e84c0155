import Metrics
import SignalboxCore
import Synchronization

/// Holds the metrics created so far, by source and plugin. Lookups do not allocate. Safe to use from any thread.
final class MetricCache: Sendable {
    /// A source, and the plugin that an arrival from this source was meant for.
    private struct Pair: Hashable {
        let source: SourceName
        let plugin: ActionName?
    }

    private struct State {
        var series: [Pair: MetricSeries] = [:]
        /// The metrics by source. The key `nil` stands for all sources beyond the limit.
        var sources: [SourceName?: SourceMetrics] = [:]
        /// The result of the last lookup, which is kept because consecutive arrivals often have the same source and
        /// plugin.
        var last: (pair: Pair, series: MetricSeries)?
        /// The metrics for all pairs beyond the limit.
        var other: PluginMetrics?
    }

    let maker: MetricMaker
    private let limit: Int
    private let state = Mutex(State())

    init(maker: MetricMaker, limit: Int) {
        self.maker = maker
        self.limit = limit
    }

    /// Returns the metrics for a source and a plugin, creating them on first use.
    ///
    /// - Parameter plugin: The plugin's registered name, which the cache stores, so the name must not share memory with
    ///   a batch.
    func series(of source: SourceName, _ plugin: ActionName?) -> MetricSeries {
        state.withLock { state in
            if let last = state.last, last.pair.source == source, MetricCache.areEqual(last.pair.plugin, plugin) {
                return last.series
            }
            let pair = Pair(source: source, plugin: plugin)
            if let known = state.series[pair] {
                state.last = (pair, known)
                return known
            }
            return make(pair, &state)
        }
    }

    func metrics(of source: SourceName) -> SourceMetrics {
        state.withLock { metrics(of: source, &$0) }
    }

    private func metrics(of source: SourceName, _ state: inout State) -> SourceMetrics {
        if let known = state.sources[source] { return known }
        let separate = state.sources.count < limit ? source : nil
        if let known = state.sources[separate] { return known }
        let made = SourceMetrics(source: separate?.text ?? MetricLabel.other, maker: maker)
        state.sources[separate] = made
        return made
    }

    private func make(_ pair: Pair, _ state: inout State) -> MetricSeries {
        let source = metrics(of: pair.source, &state)
        guard state.series.count < limit else {
            let other =
                state.other ?? PluginMetrics(source: MetricLabel.other, plugin: MetricLabel.other, maker: maker)
            state.other = other
            return MetricSeries(plugin: other, source: source)
        }
        let name = pair.plugin?.text ?? MetricLabel.noPlugin
        let plugin = PluginMetrics(source: pair.source.text, plugin: name, maker: maker)
        let made = MetricSeries(plugin: plugin, source: source)
        state.series[pair] = made
        state.last = (pair, made)
        return made
    }

    private static func areEqual(_ left: ActionName?, _ right: ActionName?) -> Bool {
        guard let left, let right else { return left == nil && right == nil }
        // The two names nearly always come from the same registration, and then there is no need to compare their
        // bytes.
        let (own, other) = (left.bytes, right.bytes)
        if own.storage === other.storage, own.start == other.start, own.length == other.length { return true }
        return left.bytes.withUnsafeBytes { left in
            right.bytes.withUnsafeBytes { ByteComparison.areEqual(left, $0) }
        }
    }
}

/// The metrics that the arrivals of one source for one plugin update.
struct MetricSeries: Sendable {
    fileprivate let plugin: PluginMetrics
    fileprivate let source: SourceMetrics

    /// Records the duration of a call.
    func record(nanoseconds: Int64) {
        plugin.duration.recordNanoseconds(nanoseconds)
    }

    /// Counts an arrival's outcome.
    ///
    /// - Parameter attempts: The number of attempts that were started.
    func count(_ outcome: Outcome, attempts: Int) {
        plugin.count(outcome)
        if attempts > 0 { plugin.attempts.increment(by: attempts) }
        switch outcome {
        case .rejected, .failed: source.deadLetters.increment()
        case .handled, .abandoned: break
        }
    }

    /// Counts the outcome of a duplicate, for which the plugin was not called and no dead letter was added.
    func countDuplicate(_ outcome: Outcome) {
        plugin.count(outcome)
        source.duplicates.increment()
    }
}

/// The metrics for one source and plugin.
final class PluginMetrics: Sendable {
    let attempts: Counter
    let duration: Timer
    private let handled: Counter
    /// The counters by code, created on first use. There are about a dozen.
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

/// The metrics for one source.
final class SourceMetrics: Sendable {
    let duplicates: Counter
    let deadLetters: Counter
    private let lateReturns: Counter
    private let windowArrivals: Meter
    private let windowBytes: Meter
    private let lateReturnsReported = Mutex(CountReport())
    private let unreadableItems: Counter
    private let unreadableItemsReported = Mutex(CountReport())

    init(source: String, maker: MetricMaker) {
        duplicates = maker.counter(.duplicates, [source])
        deadLetters = maker.counter(.deadLetters, [source])
        lateReturns = maker.counter(.lateReturns, [source])
        unreadableItems = maker.counter(.unreadableItems, [source])
        windowArrivals = maker.meter(.windowArrivals, [source])
        windowBytes = maker.meter(.windowBytes, [source])
    }

    /// Records the source's counts and window use.
    ///
    /// - Parameter window: The window use, or `nil` if the source has been removed and has no unsettled arrivals.
    func record(_ counts: OutcomeCounts, _ window: WindowUse?) {
        let new = lateReturnsReported.withLock { $0.take(of: counts.lateReturns) }
        if new > 0 { lateReturns.increment(by: new) }
        let unreadable = unreadableItemsReported.withLock { $0.take(of: counts.unreadableItems) }
        if unreadable > 0 { unreadableItems.increment(by: unreadable) }
        windowArrivals.set(window?.arrivals ?? 0)
        windowBytes.set(window?.bytes ?? 0)
    }
}

/// The metrics for a supervisor's store.
struct StoreMetrics: Sendable {
    private let deadLetters: Meter
    private let fullness: Meter
    private let writable: Meter

    init(maker: MetricMaker) {
        deadLetters = maker.meter(.deadLettersStored)
        fullness = maker.meter(.deadLettersFullness)
        writable = maker.meter(.storeWritable)
    }

    func record(_ use: DeadLetterUse) {
        deadLetters.set(use.count)
        fullness.set(use.fullness)
    }

    func record(isWritable: Bool) { writable.set(isWritable ? 1 : 0) }
}

/// Makes the metrics in ``MetricName`` and adds their labels.
struct MetricMaker: Sendable {
    let factory: any MetricsFactory

    /// - Parameter values: The label values, in the order of the metric's labels.
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
