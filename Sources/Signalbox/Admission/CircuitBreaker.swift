import Logging
import SignalboxCore
import Synchronization

/// The circuit breaker of one plugin, shared by all sources. Safe to use from any thread.
final class CircuitBreaker: Sendable {
    private let plugin: ActionName
    let policy: CircuitBreakerPolicy
    private let state: Mutex<BreakerState>
    /// The rejection that arrivals receive while the breaker is open.
    let rejection: Outcome.Rejection

    init(_ policy: CircuitBreakerPolicy, for plugin: ActionName, _ configuration: SupervisorConfiguration) {
        self.plugin = plugin
        self.policy = policy
        let openTicks = TickCount.ticks(in: policy.openFor, of: configuration.tick)
        state = Mutex(BreakerState(failures: policy.failures, openTicks: openTicks))
        rejection = Outcome.Rejection(
            .unavailable,
            detail:
                "the circuit breaker of plugin \(plugin) is open after \(policy.failures) failures in a row; one action"
                + " is tried every \(policy.openFor)"
        )
    }

    /// Returns a rejection, or `nil` if the arrival may be sent to the plugin.
    func refusal(of arrival: Arrival, at now: UInt64) -> Outcome.Rejection? {
        state.withLock { $0.admits(arrival, at: now) } ? nil : rejection
    }

    /// Describes the current state, and returns whether an arrival would pass. Unlike ``refusal(of:at:)``, this method
    /// does not start a trial.
    func status(at now: UInt64) -> (text: String, admits: Bool) { state.withLock { $0.status(at: now) } }

    /// Whether every arrival passes.
    var isClosed: Bool { state.withLock { if case .closed = $0.phase { true } else { false } } }

    /// Records the outcome of an arrival that was meant for the plugin.
    func settle(_ arrival: Arrival, _ outcome: Outcome, at now: UInt64, _ logger: Logger) {
        switch state.withLock({ $0.settle(arrival, outcome, at: now) }) {
        case nil: break
        case .opened:
            logger.write(
                .breakerOpened,
                nil,
                [
                    .plugin: plugin.text, .failures: "\(policy.failures)", .openFor: "\(policy.openFor)",
                    .reason: outcome.text,
                    .advice: "find out why the plugin fails; it is retried automatically",
                ]
            )
        case .closed(let rejected):
            logger.write(
                .breakerClosed,
                nil,
                [
                    .plugin: plugin.text, .rejectedWhileOpen: "\(rejected)",
                    .advice: "replay the dead letters of that time if they are still relevant",
                ]
            )
        }
    }
}

/// The state that a ``CircuitBreaker`` keeps behind its lock. This type uses no threads and no clocks.
struct BreakerState: Sendable {
    enum Phase: Sendable {
        /// Every arrival passes. The associated value is the number of actions that have failed in a row.
        case closed(failures: Int)
        /// No arrival passes before this tick.
        case open(until: UInt64)
        /// One arrival at a time passes, as a trial. If `trial` is `nil`, the next arrival becomes the trial.
        case halfOpen(trial: Arrival?)
    }

    /// A state change to log.
    enum Change: Sendable, Equatable {
        case opened
        /// The breaker closed, after rejecting `rejected` arrivals while it was open.
        case closed(rejected: Int)
    }

    let failures: Int
    let openTicks: UInt64
    private(set) var phase = Phase.closed(failures: 0)
    private(set) var rejected = 0

    /// Returns whether an arrival may be sent to the plugin. Once the open period is over, the breaker lets one arrival
    /// through at a time.
    mutating func admits(_ arrival: Arrival, at now: UInt64) -> Bool {
        if case .closed = phase { return true }
        guard mayTry(at: now) else {
            rejected += 1
            return false
        }
        phase = .halfOpen(trial: arrival)
        return true
    }

    /// Describes the current state, and returns whether an arrival would pass.
    func status(at now: UInt64) -> (text: String, admits: Bool) {
        let text =
            switch phase {
            case .closed(let count): "closed, \(count) failures in a row"
            case .open where mayTry(at: now), .halfOpen(nil): "open, the next action is tried"
            case .open: "open"
            case .halfOpen: "open, one action is being tried"
            }
        return (text, mayTry(at: now))
    }

    private func mayTry(at now: UInt64) -> Bool {
        switch phase {
        case .closed: true
        case .open(let end): now >= end
        case .halfOpen(let trial): trial == nil
        }
    }

    /// Records the outcome of an arrival.
    ///
    /// If an arrival passed before the breaker opened and ends while the breaker is open, its outcome is ignored.
    mutating func settle(_ arrival: Arrival, _ outcome: Outcome, at now: UInt64) -> Change? {
        switch phase {
        case .closed(let count): return settleWhileClosed(count, outcome, at: now)
        case .open: return nil
        case .halfOpen(let trial):
            guard let trial, trial.isSame(as: arrival) else { return nil }
            return settleTrial(outcome, at: now)
        }
    }

    private mutating func settleWhileClosed(_ count: Int, _ outcome: Outcome, at now: UInt64) -> Change? {
        switch outcome {
        case .handled: phase = .closed(failures: 0)
        // These failures are not counted, because an open breaker would turn later arrivals into dead letters.
        case .failed(let failure) where failure.whenExhausted == .abandon: break
        case .failed where count + 1 >= failures:
            phase = .open(until: now + openTicks)
            return .opened
        case .failed: phase = .closed(failures: count + 1)
        case .rejected, .abandoned: break
        }
        return nil
    }

    private mutating func settleTrial(_ outcome: Outcome, at now: UInt64) -> Change? {
        switch outcome {
        case .handled:
            phase = .closed(failures: 0)
            defer { rejected = 0 }
            return .closed(rejected: rejected)
        case .failed: phase = .open(until: now + openTicks)
        case .rejected, .abandoned: phase = .halfOpen(trial: nil)
        }
        return nil
    }
}
