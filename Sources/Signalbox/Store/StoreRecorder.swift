import SignalboxCore

/// Records the outcomes of one source's arrivals in the supervisor's store. Safe to use from any thread.
struct StoreRecorder: Sendable {
    let store: any MessageStore
    let source: SourceName
    /// Returns the id under which a handled arrival is remembered, or `nil` if the source is not deduplicated.
    let deduplication: SourceDeduplication?
    let commits: PendingCommits

    /// Records an outcome.
    ///
    /// - Parameters:
    ///   - letter: The dead letter, or `nil` if the arrival was handled.
    ///   - isDuplicate: Whether the outcome is that of an earlier arrival, with which the id was recorded. A duplicate does not
    ///     extend the time for which the id is remembered.
    ///   - settled: Notifies all who wait for the outcome. If nothing else keeps the message, or if it is a dead letter that is
    ///     replayed, this runs once the record is on disk, on the store's thread; otherwise at once.
    ///   - abandoned: Called instead of `settled` if the program does not wait for the disk any longer.
    func record(
        _ arrival: Arrival,
        _ outcome: Outcome,
        letter: DeadLetter?,
        isDuplicate: Bool = false,
        sink: any SettlementSink,
        settled: @escaping @Sendable () -> Void,
        abandoned: @escaping @Sendable () -> Void
    ) {
        let stored = sink as? any StoredArrivals
        let place = stored?.place(of: arrival.record.token)
        var record = StoredSettlement(source: source, row: place?.row, replayed: place?.letter)
        record.deadLetter = letter.map { StoredDeadLetter($0, arrival, at: store.now) }
        if case .handled(let reply) = outcome, !isDuplicate {
            record.handledID = deduplication?.handledID(of: arrival, reply, store.now)
        }
        guard record.replayed != nil || record.deadLetter != nil && place == nil else {
            if !record.isEmpty { store.record(record, committed: nil) }
            return settled()
        }
        let number = commits.add(abandon: abandoned)
        store.record(record) { [commits] in if commits.take(number) { settled() } }
    }
}

/// A sink of arrivals that a store already keeps.
protocol StoredArrivals: SettlementSink {
    /// Returns where the store keeps an arrival.
    func place(of token: UInt64) -> StorePlace
}

/// Where a store keeps an arrival: in the journal, or among the dead letters.
struct StorePlace: Sendable {
    var row: Int64?
    var letter: Int64?
}

extension StoredSettlement {
    fileprivate var isEmpty: Bool { row == nil && replayed == nil && deadLetter == nil && handledID == nil }
}

extension StoredDeadLetter {
    init(_ letter: DeadLetter, _ arrival: Arrival, at now: WallTime) {
        let facts = StoredMessage.facts(of: letter.facts)
        var message = StoredMessage(arrival, facts: facts, at: now)
        // The copies do not keep the batch in memory while the store waits for the disk.
        message.original = letter.original
        message.action = letter.action
        message.id = letter.id
        let explanation = (try? BodyWriter.write(letter.explanation.steps)) ?? Bytes("[]")
        self.init(
            message: message,
            outcome: letter.outcome.name,
            reason: letter.outcome.code,
            detail: letter.outcome.detail,
            path: letter.outcome.bodyPath,
            explanation: explanation,
            attempts: letter.attempts,
            plugin: letter.plugin?.action
        )
    }
}

extension Outcome {
    /// The description of what happened, without the reason.
    var detail: String {
        switch self {
        case .handled: ""
        case .rejected(let rejection): rejection.detail
        case .failed(let failure): failure.detail
        case .abandoned(let abandonment): abandonment.detail
        }
    }

    /// The path to the value in the body that caused the rejection, or `nil`.
    var bodyPath: String? {
        guard case .rejected(let rejection) = self, let path = rejection.bodyError?.path, !path.isEmpty else {
            return nil
        }
        return path
    }
}
