import SignalboxCore

/// What is noted of a dead letter for its explanation: a few words and references, so that a flood of rejects costs no
/// more for it.
struct DeadLetterTrace: Sendable {
    let envelope: EnvelopeKind
    /// The plugin it was meant for, or `nil` when none was found.
    let plugin: PluginOutline?
    /// Whether the last attempt ended in the outcome; else the supervisor decided.
    let isOutcomeOfAttempt: Bool
}
