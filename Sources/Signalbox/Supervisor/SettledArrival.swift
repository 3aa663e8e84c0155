public import SignalboxCore

/// An arrival and what became of it, as told to ``SupervisorConfiguration/onOutcome``.
public struct SettledArrival: Sendable {
    /// The arrival, with its origin and original bytes.
    public let arrival: Arrival
    /// The plugin it was meant for, or `nil` when none was found.
    public let plugin: ActionName?
    /// What became of it.
    public let outcome: Outcome
    /// How many times the plugin was called for it; 0 when it was not.
    public let attempts: Int
    /// Whether it came again and was answered without a call.
    public let isRepeat: Bool
}
