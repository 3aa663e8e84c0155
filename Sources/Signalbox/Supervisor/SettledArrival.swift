public import SignalboxCore

/// An arrival and what became of it, as told to ``SupervisorConfiguration/onOutcome``.
public struct SettledArrival: Sendable {
    /// The arrival, with its origin and original bytes.
    public let arrival: Arrival
    /// The plugin it was meant for, or `nil` when none was found.
    public let plugin: ActionName?
    /// What became of it.
    public let outcome: Outcome
    /// How often the plugin was called for it; 0 when something else decided before a call, and for a repeat.
    public let attempts: Int
    /// Whether it repeats an earlier arrival, by source and id, and was settled with that one's outcome: the plugin was not
    /// called for it, and it is no dead letter of its own.
    public let isRepeat: Bool
    /// What ``explanation`` says of the plugin.
    var outline: PluginOutline?
}
