import SignalboxCore

/// An adapter's sink that notes what it is told, before it is.
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
