import PrometheusMetrics
import Signalbox
import SignalboxCore
import Synchronization

/// What sources and plugins have done, in all and in each of the last seconds. Safe to use from any thread.
final class ActivityHistory: ReportObserver {
    /// Whose activity it is.
    enum Owner: Hashable, Sendable {
        case source(String)
        /// A plugin by its action, or `none` for arrivals without a plugin.
        case plugin(String)
        /// What comes from a source for a plugin.
        case link(source: String, plugin: String)
        /// What comes from a source for a plugin and has an outcome with this code, which is not `handled`.
        case fault(source: String, plugin: String, code: String)
    }

    private struct Sample {
        let time: ContinuousClock.Instant
        let activities: [Owner: Activity]
    }

    /// How many seconds the history goes back.
    static let seconds = 60

    private let counts: @Sendable (SupervisorReport) -> [Owner: Activity]
    private let now: @Sendable () -> ContinuousClock.Instant
    /// What was known at the end of each of the last seconds, oldest first. There is at least one sample.
    private let samples: Mutex<[Sample]>
    private let isAdding = Atomic<Bool>(false)

    /// - Parameter registry: Has the metrics of the supervisor.
    convenience init(of registry: PrometheusRegistry) {
        self.init(now: { .now }) { ActivityHistory.activities($0, registry) }
    }

    /// - Parameters:
    ///   - now: Returns the time.
    ///   - counts: Returns what is known at the time of a report.
    init(
        now: @escaping @Sendable () -> ContinuousClock.Instant,
        counts: @escaping @Sendable (SupervisorReport) -> [Owner: Activity]
    ) {
        (self.counts, self.now) = (counts, now)
        samples = Mutex([Sample(time: now(), activities: [:])])
    }

    /// Ends a second. The values of all metrics are read on another thread, because the timer must not wait.
    func reported(_ report: SupervisorReport) {
        guard isAdding.compareExchange(expected: false, desired: true, ordering: .acquiring).exchanged else { return }
        Task {
            add(report)
            isAdding.store(false, ordering: .releasing)
        }
    }

    /// Ends a second.
    func add(_ report: SupervisorReport) {
        let sample = Sample(time: now(), activities: counts(report))
        samples.withLock { samples in
            samples.append(sample)
            if samples.count > ActivityHistory.seconds + 1 { samples.removeFirst() }
        }
    }

    /// Returns what is known now.
    func view(_ report: SupervisorReport) -> ActivityView {
        let current = counts(report)
        let (time, samples) = (now(), samples.withLock { $0 })
        return ActivityView(
            current: current,
            series: { owner in samples.map { $0.activities[owner] ?? Activity() } },
            ages: samples.map { time - $0.time }
        )
    }

    private static func activities(_ report: SupervisorReport, _ registry: PrometheusRegistry) -> [Owner: Activity] {
        var found: [Owner: Activity] = [:]
        for (source, counts) in report.sources {
            found[.source(source.text)] = Activity(
                handled: counts.handled,
                rejected: counts.rejected,
                failed: counts.failed,
                abandoned: counts.abandoned
            )
        }
        for sample in registry.samples(of: SupervisorMetrics.outcomesName) {
            guard let plugin = sample.label("plugin"), let source = sample.label("source"),
                let outcome = sample.label("outcome"), case .count(let count) = sample.value
            else { continue }
            found[.plugin(plugin), default: Activity()].add(Int(count), outcome)
            found[.link(source: source, plugin: plugin), default: Activity()].add(Int(count), outcome)
            guard outcome != "handled", let code = sample.label("code") else { continue }
            found[.fault(source: source, plugin: plugin, code: code), default: Activity()].add(Int(count), outcome)
        }
        for sample in registry.samples(of: SupervisorMetrics.callDurationName) {
            guard let plugin = sample.label("plugin"), case .histogram(_, let counts, _) = sample.value else {
                continue
            }
            found[.plugin(plugin), default: Activity()].durations.add(counts)
        }
        return found
    }
}

extension MetricSample {
    fileprivate func label(_ name: String) -> String? { labels.first { $0.name == name }?.value }
}

/// How many arrivals had each outcome, and how long calls took, from the start.
struct Activity: Sendable, Equatable {
    var handled = 0
    var rejected = 0
    var failed = 0
    var abandoned = 0
    var durations = DurationCounts()

    var settled: Int { handled + rejected + failed + abandoned }

    fileprivate mutating func add(_ count: Int, _ outcome: String) {
        switch outcome {
        case "handled": handled += count
        case "rejected": rejected += count
        case "failed": failed += count
        default: abandoned += count
        }
    }
}

/// How many calls had a duration within each bucket of ``PrometheusRegistry/bounds``.
struct DurationCounts: Sendable, Equatable {
    private(set) var counts: [Int64] = []

    init(_ counts: [Int64] = []) { self.counts = counts }

    mutating func add(_ other: [Int64]) {
        if counts.isEmpty {
            counts = other
        } else {
            for (index, count) in other.enumerated() { counts[index] += count }
        }
    }

    /// Returns the counts since an earlier moment.
    func since(_ earlier: DurationCounts) -> DurationCounts {
        guard earlier.counts.count == counts.count else { return self }
        return DurationCounts(zip(counts, earlier.counts).map { $0 - $1 })
    }

    /// Returns the duration that the share of calls does not exceed, in seconds, or `nil` without a call. The durations of one
    /// bucket count as evenly spread, and those of the last bucket as its lower bound.
    func quantile(_ share: Double) -> Double? {
        let total = counts.reduce(0, +)
        guard total > 0 else { return nil }
        let rank = share * Double(total)
        var before: Double = 0
        for (index, count) in counts.enumerated() where count > 0 {
            let lower = index == 0 ? 0 : PrometheusRegistry.bounds[index - 1]
            guard index < PrometheusRegistry.bounds.count else { return lower }
            if before + Double(count) >= rank {
                return lower + (PrometheusRegistry.bounds[index] - lower) * (rank - before) / Double(count)
            }
            before += Double(count)
        }
        return PrometheusRegistry.bounds.last
    }
}

/// What sources and plugins have done up to a moment.
struct ActivityView {
    /// The counts at this moment, from the start.
    let current: [ActivityHistory.Owner: Activity]
    /// The counts of one owner at the end of each of the last seconds.
    let series: (ActivityHistory.Owner) -> [Activity]
    /// How long ago each of these seconds ended.
    let ages: [Duration]

    /// The time over which rates are averaged.
    static let rateWindow = Duration.seconds(10)

    /// The index of the second with which the time of averages begins.
    private var firstRecent: Int { ages.firstIndex { $0 <= ActivityView.rateWindow + .seconds(1) } ?? ages.count - 1 }

    /// Returns how many arrivals were settled a second, over the last ten seconds or, before that, since the start.
    func rate(of owner: ActivityHistory.Owner) -> Double {
        let seconds = ages[firstRecent] / .seconds(1)
        return seconds > 0 ? Double(recent(of: owner).settled) / seconds : 0
    }

    /// Returns how many arrivals had each outcome in the last ten seconds or, before that, since the start. It has no durations.
    func recent(of owner: ActivityHistory.Owner) -> Activity {
        let (now, earlier) = (current[owner] ?? Activity(), series(owner)[firstRecent])
        return Activity(
            handled: now.handled - earlier.handled,
            rejected: now.rejected - earlier.rejected,
            failed: now.failed - earlier.failed,
            abandoned: now.abandoned - earlier.abandoned
        )
    }

    /// Returns the durations of the calls of the last minute.
    func durations(of owner: ActivityHistory.Owner) -> DurationCounts {
        (current[owner]?.durations ?? DurationCounts()).since(series(owner).first?.durations ?? DurationCounts())
    }

    /// Returns how many arrivals had an outcome in each of the last seconds, oldest first.
    func perSecond(of owner: ActivityHistory.Owner, _ count: (Activity) -> Int = \.settled) -> [Int] {
        let counts = series(owner).map(count)
        return zip(counts.dropFirst(), counts).map { $0 - $1 }
    }

    /// Returns the worst outcome of the last ten seconds, or `nil` if nothing was settled.
    func worst(of owner: ActivityHistory.Owner) -> String? {
        let recent = recent(of: owner)
        if recent.failed > 0 { return "failed" }
        if recent.rejected > 0 { return "rejected" }
        if recent.abandoned > 0 { return "abandoned" }
        return recent.handled > 0 ? "handled" : nil
    }

    /// Returns a count of all sources together in each of the last seconds, oldest first.
    func total(_ count: (Activity) -> Int) -> [Int] {
        var total = [Int](repeating: 0, count: max(0, ages.count - 1))
        for case .source(let name) in current.keys {
            for (index, value) in perSecond(of: .source(name), count).enumerated() { total[index] += value }
        }
        return total
    }

    /// The duration that 99 % of the calls of all plugins did not exceed, in seconds, for each of the last seconds; `nil` for those
    /// without a call.
    var p99OfEachSecond: [Double?] {
        var counts = [DurationCounts](repeating: DurationCounts(), count: ages.count)
        for case .plugin(let name) in current.keys {
            for (index, activity) in series(.plugin(name)).enumerated() { counts[index].add(activity.durations.counts) }
        }
        return zip(counts.dropFirst(), counts).map { $0.since($1).quantile(0.99) }
    }
}
