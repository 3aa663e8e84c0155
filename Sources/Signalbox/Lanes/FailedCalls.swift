import SignalboxCore

/// How the last calls for the arrivals of a run failed.
struct FailedCalls: Sendable {
    private let outcomes: [Outcome]
    /// The position of the first of them.
    private let first: Int

    init(_ outcomes: [Outcome], from first: Int) {
        self.outcomes = outcomes
        self.first = first
    }

    func outcome(at position: Int) -> Outcome? {
        outcomes.indices.contains(position - first) ? outcomes[position - first] : nil
    }

    /// The same for a run that was made of these positions alone.
    func picked(at positions: [Int]) -> FailedCalls {
        FailedCalls(positions.compactMap(outcome(at:)), from: 0)
    }
}
