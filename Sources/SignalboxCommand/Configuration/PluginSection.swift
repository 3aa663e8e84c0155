import Signalbox
import SignalboxCore

/// One entry of `plugins`.
struct PluginSection: Sendable, Hashable {
    /// The action it is registered for.
    let action: ActionName
    /// What it does.
    let use: PluginUse
    /// Who may call it; at least one, and one that allows is enough.
    let from: [AccessSection]
    /// How long its call may take, or `nil` for the configuration's timeout.
    var timeout: Duration?
    /// Which actions wait for each other.
    var order = OrderSection.source
    /// The most calls at once.
    var maxConcurrent = 1
    /// Whether a failed call is made again.
    var retry: RetryPolicy?
    /// Whether it is left alone after failures.
    var circuitBreaker: CircuitBreakerPolicy?
}
