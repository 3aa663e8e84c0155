import SignalboxCore

/// Receives the outcomes of arrivals that are in a journal, and passes them to the adapter's sink if the sender still waits.
final class JournalSink: StoredArrivals {
    private let journal: Journal
    /// The row of each arrival.
    private let rows: [Int64]
    /// The size of each arrival's original bytes.
    private let lengths: [Int]
    /// The positions of the tokens, or `nil` if the token of the first arrival is ``firstToken`` and each next one is 1 more.
    private let positions: [UInt64: Int]?
    private let firstToken: UInt64
    /// The sink of the adapter that has just submitted the arrivals, or `nil` if they were read from the journal.
    private let adapter: (any SettlementSink)?

    init(_ journal: Journal, _ arrivals: [Arrival], rows: [Int64], adapter: (any SettlementSink)?) {
        self.journal = journal
        self.rows = rows
        self.adapter = adapter
        lengths = arrivals.map(\.originalLength)
        let first = arrivals.first?.token ?? 0
        firstToken = first
        let areConsecutive = arrivals.indices.allSatisfy { arrivals[$0].token == first &+ UInt64($0) }
        positions =
            areConsecutive
            ? nil
            : Dictionary(arrivals.indices.map { (arrivals[$0].token, $0) }, uniquingKeysWith: { first, _ in first })
    }

    private func position(of token: UInt64) -> Int { positions.map { $0[token] ?? 0 } ?? Int(token &- firstToken) }

    func place(of token: UInt64) -> StorePlace { StorePlace(row: rows[position(of: token)]) }

    /// Does nothing: the message was acknowledged when it was committed.
    func mayAcknowledge(_ token: UInt64) {}

    func settle(_ token: UInt64, _ outcome: Outcome) {
        let position = position(of: token)
        let row = rows[position]
        if case .abandoned = outcome {
            // The journal dispatches the message again, whether a plugin or middleware abandoned it.
            return journal.giveBack(row, owner: adapter.map { Journal.Owner(sink: $0, token: token) })
        }
        journal.finished(row, bytes: lengths[position])
        if let adapter { return adapter.settle(token, outcome) }
        guard let owner = journal.takeOwner(of: row) else { return }
        owner.sink.settle(owner.token, outcome)
    }
}
