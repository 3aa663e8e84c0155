extension Intake {
    /// Submits a batch and waits for every outcome: a convenience for tests and command lines.
    ///
    /// Must not be awaited by a plugin that is itself the target: its lane would wait for itself until the timeout.
    ///
    /// - Precondition: the tokens of the batch differ from each other.
    /// - Returns: the outcomes in the order of `batch`; `abandoned(drain)` for what was not taken any more.
    public func deliver(_ batch: [Arrival]) async -> [Outcome] {
        let collector = OutcomeCollector()
        var taken = 0
        while taken < batch.count {
            taken += submit(Array(batch[taken...]), to: collector)
            guard taken < batch.count else { break }
            do { try await room() } catch { break }
        }
        let outcomes = await collector.outcomes(taken)
        return batch.map { outcomes[$0.token] ?? .abandoned(.drain) }
    }
}
