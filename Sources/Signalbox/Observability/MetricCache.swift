import Metrics
import SignalboxCore
import Synchronization

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
