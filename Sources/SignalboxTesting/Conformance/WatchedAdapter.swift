import SignalboxCore

/// Wraps the adapter under test, and runs it with an intake that records its calls.
struct WatchedAdapter: Adapter {
    let adapter: any Adapter
    let number: Int
    let record: Watched<ConformanceRecord>

    var source: SourceName { adapter.source }
    var features: AdapterFeatures { adapter.features }

    func run(into intake: any Intake) async throws {
        record.change { $0.inRun(number) { $0.hasBegun = true } }
        defer { record.change { $0.inRun(number) { $0.returned() } } }
        try await withTaskCancellationHandler {
            try await adapter.run(into: WatchedIntake(intake: intake, number: number, record: record))
        } onCancel: {
            record.change { $0.inRun(number) { $0.isStopRequested = true } }
        }
    }
}

/// Wraps the supervisor's intake and records every call.
struct WatchedIntake: Intake {
    let intake: any Intake
    let number: Int
    let record: Watched<ConformanceRecord>

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
        record.change { $0.inRun(number) { $0.roomRequested() } }
        do {
            try await intake.room()
        } catch {
            record.change { $0.inRun(number) { $0.roomReturned(isOpen: false) } }
            throw error
        }
        record.change { $0.inRun(number) { $0.roomReturned(isOpen: true) } }
    }
}

/// Wraps the adapter's sink, and records every call before forwarding it.
final class WatchedSink: SettlementSink {
    private let sink: any SettlementSink
    private let number: Int
    private let record: Watched<ConformanceRecord>

    init(_ sink: any SettlementSink, number: Int, record: Watched<ConformanceRecord>) {
        self.sink = sink
        self.number = number
        self.record = record
    }

    func key(_ token: UInt64) -> ConformanceRun.Key {
        ConformanceRun.Key(sink: ObjectIdentifier(sink), token: token)
    }

    func mayAcknowledge(_ token: UInt64) {
        record.change { $0.inRun(number) { $0.acknowledge(key(token)) } }
        sink.mayAcknowledge(token)
    }

    func settle(_ token: UInt64, _ outcome: Outcome) {
        record.change { $0.inRun(number) { $0.settle(key(token), outcome) } }
        sink.settle(token, outcome)
    }
}
