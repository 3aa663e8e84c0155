import SignalboxCore
import Synchronization

/// An adapter's sink that does the least an adapter can: it counts.
final class CountingSink: SettlementSink {
    let settled = Atomic<Int>(0)
    let notHandled = Atomic<Int>(0)

    func mayAcknowledge(_ token: UInt64) {}

    func settle(_ token: UInt64, _ outcome: Outcome) {
        if case .handled = outcome {} else { notHandled.wrappingAdd(1, ordering: .relaxed) }
        settled.wrappingAdd(1, ordering: .releasing)
    }
}
