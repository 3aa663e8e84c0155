import Metrics
import SignalboxCore
import Synchronization

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
