import SignalboxCore

/// Hears what became of an in-memory adapter's messages in one run, and tells them.
final class InMemorySink: SettlementSink {
    private let queue: Watched<InMemoryQueue>
    private let redelivers: Bool

    init(queue: Watched<InMemoryQueue>, redelivers: Bool) {
        self.queue = queue
        self.redelivers = redelivers
    }

    func mayAcknowledge(_ token: UInt64) {
        let message = queue.change { queue in
            queue.acknowledge(token, keeping: InMemoryAdapter.recordLimit)
            return queue.message(token)
        }
        message?.acknowledge()
    }

    func settle(_ token: UInt64, _ outcome: Outcome) {
        var comesAgain = false
        if case .abandoned = outcome { comesAgain = redelivers }
        // Told before it leaves what is inside: when a run has ended, all that it took has an outcome.
        queue.value.message(token)?.settle(outcome)
        queue.change { $0.settle(token, comesAgain: comesAgain) }
    }
}
