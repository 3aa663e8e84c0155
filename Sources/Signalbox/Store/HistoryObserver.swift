import SignalboxCore

/// Adds every outcome to the history of the supervisor's store.
struct HistoryObserver: OutcomeObserver {
    let store: any MessageStore

    func settled(_ settled: SettledArrival) {
        let arrival = settled.arrival
        let action = try? arrival.reading.get()
        // As texts, which do not keep the batch in memory until the disk has answered.
        let record = OutcomeRecord(
            source: arrival.origin.source,
            action: action?.name.text,
            id: action?.id.text,
            plugin: settled.plugin?.text,
            outcome: settled.outcome.name,
            reason: settled.outcome.code,
            detail: settled.outcome.detail,
            path: settled.outcome.bodyPath,
            attempts: settled.attempts,
            isDuplicate: settled.isDuplicate,
            isRedelivered: arrival.isRedelivered,
            receivedAt: arrival.receivedAt,
            settledAt: store.now
        )
        store.note(record)
    }
}
