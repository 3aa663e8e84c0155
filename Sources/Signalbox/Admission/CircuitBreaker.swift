import Logging
import SignalboxCore
import Synchronization

/// The circuit breaker of one plugin, for all sources. Any thread.
final class CircuitBreaker: Sendable {
    private let plugin: ActionName
    let policy: CircuitBreakerPolicy
    private let state: Mutex<BreakerState>
    /// Why an arrival may not go on while it is open.
    let rejection: Outcome.Rejection

    init(_ policy: CircuitBreakerPolicy, for plugin: ActionName, _ configuration: SupervisorConfiguration) {
        self.plugin = plugin
        self.policy = policy
        let openTicks = TickCount.ticks(in: policy.openFor, of: configuration.tick)
        state = Mutex(BreakerState(failures: policy.failures, openTicks: openTicks))
        rejection = Outcome.Rejection(
            .unavailable,
            detail:
                "the circuit breaker of plugin \(plugin) is open: it failed \(policy.failures) times in a row and is"
                + " tried again every \(policy.openFor)"
        )
    }

    /// Why an arrival may not go on to the plugin, or `nil` when it may.
    func refusal(of arrival: Arrival, at now: UInt64) -> Outcome.Rejection? {
        state.withLock { $0.lets(arrival, at: now) } ? nil : rejection
    }

    /// In which state it is, in words, and whether an arrival might go on; nothing is tried.
    func look(at now: UInt64) -> (words: String, lets: Bool) { state.withLock { $0.look(at: now) } }

    /// Notes what became of an arrival for the plugin.
    func settle(_ arrival: Arrival, _ outcome: Outcome, at now: UInt64, _ logger: Logger) {
        switch state.withLock({ $0.settle(arrival, outcome, at: now) }) {
        case nil: break
        case .opened:
            logger.write(
                .breakerOpened,
                nil,
                [
                    .plugin: plugin.text, .failures: "\(policy.failures)", .openFor: "\(policy.openFor)",
                    .why: outcome.text,
                    .advice: "find out why the plugin fails; it is tried again by itself",
                ]
            )
        case .closed(let rejected):
            logger.write(
                .breakerClosed,
                nil,
                [
                    .plugin: plugin.text, .rejectedMeanwhile: "\(rejected)",
                    .advice: "send again what became a dead letter meanwhile, if it still counts",
                ]
            )
        }
    }
}
