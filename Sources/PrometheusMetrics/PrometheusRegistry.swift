public import CoreMetrics
import Synchronization

/// Keeps metrics in memory and writes them as the text that Prometheus reads.
///
/// Use the registry as the backend of swift-metrics, or of one supervisor:
///
/// ```swift
/// let registry = PrometheusRegistry(help: SupervisorMetrics.help)
/// supervisor.observe(SupervisorMetrics(factory: registry))
/// // Answer GET /metrics with this content type and text.
/// let (type, text) = (PrometheusRegistry.contentType, registry.text())
/// ```
///
/// A counter is a `counter`, a meter and a recorder without aggregation are a `gauge`, and a timer, in seconds, and a recorder
/// with aggregation are a `histogram` with fixed buckets. Two metrics with the same name and labels are one. Names and labels
/// that Prometheus does not permit have `_` in place of the characters in question. Recording a value takes one or two atomic
/// additions and no lock. This type is safe to use from any thread.
public final class PrometheusRegistry: MetricsFactory {
    /// The media type of ``text()``: the text format in version 0.0.4.
    public static let contentType = "text/plain; version=0.0.4; charset=utf-8"
    /// The upper bounds of a histogram's buckets, in seconds. Another bucket has everything above.
    public static let bounds: [Double] = [
        0.0001, 0.000_25, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
    ]

    /// The metrics with one name.
    private struct Family {
        let kind: PrometheusKind
        var series: [String: any PrometheusSeries] = [:]
    }

    private struct State {
        var families: [String: Family] = [:]
        var count = 0
        var refused = 0
    }

    private let seriesLimit: Int
    private let help: [String: String]
    private let state = Mutex(State())

    /// Creates a registry.
    ///
    /// - Parameters:
    ///   - help: What each metric means, by its name.
    ///   - seriesLimit: The maximum number of pairs of a name and labels. Values of further ones are not shown, and
    ///     `signalbox_metrics_refused_total` counts how often one was asked for. It must be positive; the default is 50,000.
    public init(help: [String: String] = [:], seriesLimit: Int = 50_000) {
        self.help = help
        self.seriesLimit = max(1, seriesLimit)
    }

    // MARK: - Metrics

    /// Returns the counter with a name and labels.
    public func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        series(label, dimensions, .counter) { PrometheusCounter($0) }
    }

    /// Returns the gauge with a name and labels.
    public func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        series(label, dimensions, .gauge) { PrometheusGauge($0) }
    }

    /// Returns the histogram with a name and labels or, without aggregation, the gauge.
    public func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        guard aggregate else { return series(label, dimensions, .gauge) { PrometheusGauge($0) } }
        return series(label, dimensions, .histogram) { PrometheusHistogram($0) }
    }

    /// Returns the histogram, in seconds, with a name and labels.
    public func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        series(label, dimensions, .histogram) { PrometheusHistogram($0) }
    }

    /// Forgets a counter, whose values are no longer shown.
    public func destroyCounter(_ handler: any CounterHandler) { remove(handler) }
    /// Forgets a gauge.
    public func destroyMeter(_ handler: any MeterHandler) { remove(handler) }
    /// Forgets a histogram or a gauge.
    public func destroyRecorder(_ handler: any RecorderHandler) { remove(handler) }
    /// Forgets a histogram.
    public func destroyTimer(_ handler: any TimerHandler) { remove(handler) }

    /// Returns the series with a name and labels, and creates it if necessary. The text does not show its values if another
    /// metric uses the name, or if there are too many series.
    private func series<Series: PrometheusSeries>(
        _ label: String,
        _ dimensions: [(String, String)],
        _ kind: PrometheusKind,
        _ make: (PrometheusIdentity) -> Series
    ) -> Series {
        let identity = PrometheusIdentity(label, dimensions)
        return state.withLock { state in
            let family = state.families[identity.name]
            if family?.kind == kind, let known = family?.series[identity.labels] as? Series { return known }
            let made = make(identity)
            let isFree =
                family.map { $0.kind == kind } ?? PrometheusRegistry.isFree(identity.name, kind, state.families)
            guard isFree, state.count < seriesLimit else {
                state.refused += 1
                return made
            }
            state.families[identity.name, default: Family(kind: kind)].series[identity.labels] = made
            state.count += 1
            return made
        }
    }

    /// Returns whether no line of a new metric could be taken for that of another one.
    private static func isFree(_ name: String, _ kind: PrometheusKind, _ families: [String: Family]) -> Bool {
        let suffixes = ["_bucket", "_sum", "_count"]
        if kind == .histogram, suffixes.contains(where: { families[name + $0] != nil }) { return false }
        let bases = suffixes.filter { name.hasSuffix($0) }.map { String(name.dropLast($0.count)) }
        return name != refusedName && !bases.contains { families[$0]?.kind == .histogram }
    }

    private func remove(_ handler: AnyObject) {
        guard let series = handler as? any PrometheusSeries else { return }
        let identity = series.identity
        state.withLock { state in
            guard state.families[identity.name]?.series[identity.labels] === series else { return }
            state.families[identity.name]?.series[identity.labels] = nil
            if state.families[identity.name]?.series.isEmpty == true { state.families[identity.name] = nil }
            state.count -= 1
        }
    }

    // MARK: - Text

    /// Returns the current values of all metrics, sorted by name and labels.
    ///
    /// The values of different series may be a moment apart. The buckets and the count of one histogram agree.
    public func text() -> String {
        let (families, refused) = state.withLock { ($0.families, $0.refused) }
        var text = ""
        for (name, family) in families.sorted(by: { $0.key < $1.key }) {
            begin(name, family.kind, &text)
            for (_, series) in family.series.sorted(by: { $0.key < $1.key }) { series.write(to: &text) }
        }
        begin(PrometheusRegistry.refusedName, .counter, &text)
        text += "\(PrometheusRegistry.refusedName) \(refused)\n"
        return text
    }

    /// Returns the current values of the metrics with one name, in no particular order.
    package func samples(of name: String) -> [MetricSample] {
        let series = state.withLock { $0.families[name]?.series.values.map { $0 } ?? [] }
        return series.map { MetricSample(name, meaning: nil, labels: $0.identity.sampleLabels, $0.sampleValue) }
    }

    /// The current values of all metrics, sorted by name and labels. See ``text()``.
    package var samples: [MetricSample] {
        let (families, refused) = state.withLock { ($0.families, $0.refused) }
        let series = families.sorted { $0.key < $1.key }.flatMap { name, family in
            family.series.sorted { $0.key < $1.key }.map { _, series in
                MetricSample(name, meaning: help[name], labels: series.identity.sampleLabels, series.sampleValue)
            }
        }
        let name = PrometheusRegistry.refusedName
        return series + [MetricSample(name, meaning: PrometheusRegistry.refusedHelp, .count(Int64(refused)))]
    }

    private static let refusedName = "signalbox_metrics_refused_total"
    private static let refusedHelp =
        "requests for a metric beyond the limit, or under a name of another one, whose values are not shown"

    private func begin(_ name: String, _ kind: PrometheusKind, _ text: inout String) {
        let meaning = help[name] ?? (name == PrometheusRegistry.refusedName ? PrometheusRegistry.refusedHelp : name)
        text += "# HELP \(name) \(PrometheusIdentity.escaped(meaning, quotes: false))\n"
        text += "# TYPE \(name) \(kind.rawValue)\n"
    }
}

/// The kind of a metric, as the text names it.
enum PrometheusKind: String {
    case counter, gauge, histogram
}
