public import SignalboxCore

/// A call whose body has been decoded.
@usableFromInline
enum PreparedCall: Sendable {
    /// The action's key, and what calls the plugin.
    case keyed(LaneKey, @Sendable (ActionContext) async -> Outcome)
    /// The body is not what the plugin takes.
    case refused(Outcome)
}
