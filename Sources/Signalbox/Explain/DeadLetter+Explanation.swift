import SignalboxCore

extension DeadLetter {
    /// What happened to it on its way: each stage that it passed and that was noted, and the one that stopped it.
    ///
    /// Made anew at each use from what was noted when it was settled; nothing is decoded again. The access rule is asked
    /// again, about the same facts.
    public var explanation: Explanation {
        ExplainedEnd(
            origin: Origin(source: source, facts: facts),
            action: action,
            id: id,
            outcome: outcome,
            attempts: attempts,
            trace: trace
        ).explanation
    }
}
