import Synchronization

/// Keeps the outcomes of one delivered batch until there are as many as were taken.
package final class OutcomeCollector: SettlementSink {
    private struct State {
        var outcomes: [UInt64: Outcome] = [:]
        var expected = Int.max
        var waiter: UnsafeContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    package func mayAcknowledge(_ token: UInt64) {}

    package func settle(_ token: UInt64, _ outcome: Outcome) {
        let waiter = state.withLock { state -> UnsafeContinuation<Void, Never>? in
            state.outcomes[token] = outcome
            guard state.outcomes.count >= state.expected else { return nil }
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume()
    }

    func outcomes(_ count: Int) async -> [UInt64: Outcome] {
        await withUnsafeContinuation { continuation in
            let isComplete = state.withLock { state in
                state.expected = count
                guard state.outcomes.count < count else { return true }
                state.waiter = continuation
                return false
            }
            if isComplete { continuation.resume() }
        }
        return state.withLock { $0.outcomes }
    }
}
