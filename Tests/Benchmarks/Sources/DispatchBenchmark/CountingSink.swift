import SignalboxCore
import Synchronization

/// An adapter's sink that does the least an adapter can: it counts, and tells when all have been settled.
final class CountingSink: SettlementSink {
    let notHandled = Atomic<Int>(0)
    private let left: Atomic<Int>
    private let done: AsyncStream<Never>
    private let finish: AsyncStream<Never>.Continuation

    init(expected: Int) {
        left = Atomic(expected)
        (done, finish) = AsyncStream.makeStream(of: Never.self)
    }

    func mayAcknowledge(_ token: UInt64) {}

    func settle(_ token: UInt64, _ outcome: Outcome) {
        if case .handled = outcome {} else { notHandled.wrappingAdd(1, ordering: .relaxed) }
        if left.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue == 0 { finish.finish() }
    }

    func untilSettled() async {
        for await _ in done {}
    }
}
