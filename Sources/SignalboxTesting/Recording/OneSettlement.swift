package import SignalboxCore
import Synchronization

/// The one outcome of an arrival that a test decides. Who is told is let go of then, as a supervisor does: an intake that
/// keeps its arrivals would otherwise keep the adapter, which keeps the intake.
package final class OneSettlement: Sendable {
    private let token: UInt64
    private let sink: Mutex<(any SettlementSink)?>

    package init(of arrival: Arrival, to sink: any SettlementSink) {
        token = arrival.token
        self.sink = Mutex(sink)
    }

    /// The first call tells the outcome, with custody before it unless there shall be none. Later ones do nothing.
    package func settle(_ outcome: Outcome, hasCustody: Bool = true) {
        let sink = self.sink.withLock { sink in
            defer { sink = nil }
            return sink
        }
        if hasCustody { sink?.mayAcknowledge(token) }
        sink?.settle(token, outcome)
    }
}
