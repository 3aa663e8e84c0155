import SignalboxCore

/// What explanations say of a plugin after it may have been removed: without its code, so that a dead letter keeps
/// nothing of the application alive but what its access rule holds.
final class PluginOutline: Sendable {
    let holder: String
    let rule: AccessRule
    let mostAttempts: Int
    /// What its circuit breaker says while it is open.
    let refusal: Outcome.Rejection?

    init(_ holder: String, _ rule: AccessRule, _ options: LaneOptions, _ breaker: CircuitBreaker?) {
        self.holder = holder
        self.rule = rule
        refusal = breaker?.rejection
        mostAttempts = options.retry?.attempts ?? 1
    }
}
