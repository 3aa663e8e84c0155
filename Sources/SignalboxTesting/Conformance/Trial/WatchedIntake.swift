import SignalboxCore

/// A supervisor's intake that notes all that passes through it.
struct WatchedIntake: Intake {
    private let intake: any Intake
    private let number: Int
    private let record: Watched<ConformanceRecord>

    init(_ intake: any Intake, number: Int, record: Watched<ConformanceRecord>) {
        self.intake = intake
        self.number = number
        self.record = record
    }

    func submit(_ batch: [Arrival], to sink: any SettlementSink) -> Int {
        let watched = WatchedSink(sink, number: number, record: record)
        let keys = batch.map { watched.key($0.token) }
        let ids = batch.map { arrival in (try? arrival.reading.get())?.id.text }
        let origins = Set(batch.map(\.origin.source))
        let senders = batch.count { $0.sender != nil }
        record.change { $0.inRun(number) { $0.offer(keys, from: origins, withSenders: senders) } }
        let taken = intake.submit(batch, to: watched)
        record.change { $0.inRun(number) { $0.take(taken, of: keys, ids: ids) } }
        return taken
    }

    func room() async throws(SourceClosed) {
        record.change { $0.inRun(number) { $0.askForRoom() } }
        do {
            try await intake.room()
        } catch {
            record.change { $0.inRun(number) { $0.roomReturned(isOpen: false) } }
            throw error
        }
        record.change { $0.inRun(number) { $0.roomReturned(isOpen: true) } }
    }
}
