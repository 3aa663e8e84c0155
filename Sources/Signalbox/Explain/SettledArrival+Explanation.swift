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
        case .rejected, .failed:
            return DeadLetter(arrival, outcome: outcome, plugin: outline, attempts: attempts).explanation
        }
    }
}
