public import SignalboxCore

/// An arrival and what became of it, as told to ``SupervisorConfiguration/onOutcome``.
public struct SettledArrival: Sendable {
    /// The arrival, with its origin and original bytes.
    public let arrival: Arrival
    /// The plugin it was meant for, or `nil` when none was found.
    public let plugin: ActionName?
    /// What became of it.
    public let outcome: Outcome
    /// How many attempts at a call were begun for it, middleware and decoding included; 0 when something else decided
    /// before the first, and for a repeat. With an order by key the body is decoded before the first attempt.
    public let attempts: Int
    /// Whether it repeats an earlier arrival, by source and id, and was settled with that one's outcome: the plugin was not
    /// called for it, and it is no dead letter of its own.
    public let isRepeat: Bool
    /// Whether the last attempt ended in the outcome, as a plugin or middleware made it; else the supervisor decided.
    var isOutcomeOfAttempt = false
    /// What ``explanation`` says of the plugin.
    var outline: PluginOutline?
}
