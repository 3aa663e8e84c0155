public import SignalboxCore

/// An arrival that was accepted and not handled, with the bytes as they came. It keeps no batch alive.
public struct DeadLetter: Sendable {
    /// The source it came from.
    public let source: SourceName
    /// The facts the adapter knew.
    public let facts: any OriginFacts
    /// The action's name, or `nil` when the message could not be read.
    public let action: ActionName?
    /// The action's id, or `nil` when the message could not be read.
    public let id: ActionID?
    /// When it was received, by the calendar.
    public let receivedAt: WallTime
    /// The message as it came.
    public let original: Bytes
    /// Why it was not handled: `rejected` or `failed`.
    public let outcome: Outcome
    /// How many attempts at a call were begun for it, middleware and decoding included; 0 when something else decided
    /// before the first. With an order by key the body is decoded before the first attempt.
    public let attempts: Int

    /// What ``explanation`` is made of.
    let trace: DeadLetterTrace

    init(_ arrival: Arrival, outcome: Outcome, plugin: PluginOutline?, _ attempts: AttemptsMade) {
        let origin = arrival.origin
        source = origin.source
        facts = origin.facts
        let action = try? arrival.reading.get()
        self.action = action.map { $0.name.copied() }
        id = action.map { $0.id.copied() }
        receivedAt = arrival.receivedAt
        original = arrival.original.copied()
        self.outcome = outcome
        self.attempts = attempts.begun
        trace = DeadLetterTrace(
            envelope: arrival.envelope,
            plugin: plugin,
            isOutcomeOfAttempt: attempts.isOutcomeOfLast
        )
    }
}
