import SignalboxCore
import Synchronization

/// Hears what became of the links of one run, on any thread, tells the application, and lets the run wait for it.
final class LinkSink: SettlementSink {
    private struct State {
        var unsettled: [UInt64: String] = [:]
        /// How many are settled while the application is still being told so.
        var telling = 0
        var waiter: (limit: Int, continuation: UnsafeContinuation<Void, Never>)?

        mutating func takeWaiterIfDone() -> UnsafeContinuation<Void, Never>? {
            guard let waiter, unsettled.count + telling < waiter.limit else { return nil }
            self.waiter = nil
            return waiter.continuation
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
        let link = state.withLock { state in
            let link = state.unsettled.removeValue(forKey: token)
            if link != nil { state.telling += 1 }
            return link
        }
        guard let link else { return }
        // Told before the run may return: when it has, the application has heard of all its links.
        onOutcome(link, outcome)
        let waiter = state.withLock { state in
            state.telling -= 1
            return state.takeWaiterIfDone()
        }
        waiter?.resume()
    }

    /// Waits until fewer links than `limit` are in flight: expected, and the application not yet told. For one caller.
    func untilFewer(than limit: Int) async {
        await withUnsafeContinuation { continuation in
            let waiter = state.withLock { state in
                state.waiter = (limit, continuation)
                return state.takeWaiterIfDone()
            }
            waiter?.resume()
        }
    }
}
