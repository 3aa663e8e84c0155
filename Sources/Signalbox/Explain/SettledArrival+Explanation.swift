import SignalboxCore

extension SettledArrival {
    /// What ``DeadLetter/explanation`` says of the dead letter that the arrival became; `nil` when it became none: it was
    /// handled or abandoned, or repeats another.
    ///
    /// Made anew at each use; the access rule is asked again, about the same facts.
    public var explanation: Explanation? {
        guard !isRepeat else { return nil }
        switch outcome {
        case .handled, .abandoned: return nil
        case .rejected, .failed: return end.explanation
        }
    }

    private var end: ExplainedEnd {
        let action = try? arrival.reading.get()
        return ExplainedEnd(
            origin: arrival.origin,
            action: action.map { $0.name.copied() },
            id: action.map { $0.id.copied() },
            outcome: outcome,
            attempts: attempts,
            trace: DeadLetterTrace(
                envelope: arrival.envelope,
                plugin: outline,
                isOutcomeOfAttempt: isOutcomeOfAttempt
            )
        )
    }
}
