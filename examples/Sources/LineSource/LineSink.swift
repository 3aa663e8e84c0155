import SignalboxCore
import Synchronization

/// Receives the outcomes of the lines, on any thread, and lets the adapter wait until all are settled.
final class LineSink: SettlementSink {
    private struct State {
        /// Negative while a line is settled before `expect(_:)` has counted it.
        var unsettled = 0
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())
    private let answer: @Sendable (UInt64, Outcome) -> Void

    init(answer: @escaping @Sendable (UInt64, Outcome) -> Void) {
        self.answer = answer
    }

    /// Counts lines that were taken.
    func expect(_ count: Int) {
        state.withLock { $0.unsettled += count }
    }

    func mayAcknowledge(_ token: UInt64) {}

    func settle(_ token: UInt64, _ outcome: Outcome) {
        answer(token, outcome)
        let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
            state.unsettled -= 1
            guard state.unsettled == 0 else { return nil }
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume()
    }

    /// Waits until every counted line is settled. `expect(_:)` must not be called afterwards.
    func untilAllSettled() async {
        await withCheckedContinuation { continuation in
            let isDone = state.withLock { state in
                if state.unsettled != 0 { state.waiter = continuation }
                return state.unsettled == 0
            }
            if isDone { continuation.resume() }
        }
    }
}
