import SignalboxCore
import Synchronization

/// Hears what became of the links of one run, on any thread, tells the application, and lets the run wait for the last.
final class LinkSink: SettlementSink {
    private struct State {
        var unsettled: [UInt64: String] = [:]
        var waiter: UnsafeContinuation<Void, Never>?

        mutating func takeWaiterIfDone() -> UnsafeContinuation<Void, Never>? {
            guard unsettled.isEmpty else { return nil }
            defer { waiter = nil }
            return waiter
        }
    }

    private let state = Mutex(State())
    private let onOutcome: @Sendable (String, Outcome) -> Void

    init(onOutcome: @escaping @Sendable (String, Outcome) -> Void) {
        self.onOutcome = onOutcome
    }

    /// Called before the link is submitted, as it may be settled from inside that call.
    func expect(_ token: UInt64, _ link: String) {
        state.withLock { $0.unsettled[token] = link }
    }

    /// The link was not taken; nothing will be heard of it.
    func forget(_ token: UInt64) {
        state.withLock { _ = $0.unsettled.removeValue(forKey: token) }
    }

    func mayAcknowledge(_ token: UInt64) {}

    func settle(_ token: UInt64, _ outcome: Outcome) {
        guard let link = state.withLock({ $0.unsettled[token] }) else { return }
        // Told before the run may return: when it has, the application has heard of all its links.
        onOutcome(link, outcome)
        let waiter = state.withLock { state in
            state.unsettled[token] = nil
            return state.takeWaiterIfDone()
        }
        waiter?.resume()
    }

    /// Waits until every link that was taken is settled. No more are expected.
    func untilAllSettled() async {
        await withUnsafeContinuation { continuation in
            let waiter = state.withLock { state in
                state.waiter = continuation
                return state.takeWaiterIfDone()
            }
            waiter?.resume()
        }
    }
}
