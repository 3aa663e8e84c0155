import SignalboxCore
import Synchronization

/// Kills the process instead of passing on the last settlement of a batch: all of it is handled then, and as
/// acknowledgements leave together, none of it is acknowledged.
final class DyingSink: SettlementSink {
    private let sink: any SettlementSink
    private let tally: Tally
    private let count: Int
    private let heard = Mutex(Set<UInt64>())

    init(_ sink: any SettlementSink, count: Int, _ tally: Tally) {
        self.sink = sink
        self.count = count
        self.tally = tally
    }

    func mayAcknowledge(_ token: UInt64) {
        hear(token)
        sink.mayAcknowledge(token)
    }

    func settle(_ token: UInt64, _ outcome: Outcome) {
        hear(token)
        sink.settle(token, outcome)
    }

    private func hear(_ token: UInt64) {
        let isLast = heard.withLock { heard in
            heard.insert(token).inserted && heard.count == count
        }
        if isLast && tally.diesAtFlush { Death.now() }
    }
}
