import SignalboxCore
import Synchronization

/// Hears what became of the lines, on any thread, and lets the adapter wait for the last of them.
final class LineSink: SettlementSink {
    private struct State {
        /// Below zero while a line is settled that the adapter has not counted yet.
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

    /// Waits until every line that was counted is settled. Nothing is counted any more.
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
