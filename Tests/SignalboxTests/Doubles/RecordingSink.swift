import SignalboxCore
import Synchronization

/// Records what an adapter would be told, in order, and lets a test wait for it.
final class RecordingSink: SettlementSink {
    enum Event: Hashable {
        case mayAcknowledge(UInt64)
        case settled(UInt64, Outcome)
    }

    private struct State {
        var events: [Event] = []
        var settled = 0
        var waiter: (count: Int, continuation: CheckedContinuation<Void, Never>)?
    }

    private let state = Mutex(State())

    var events: [Event] { state.withLock { $0.events } }

    /// The outcomes by token; a token settled twice has two.
    var outcomes: [UInt64: [Outcome]] {
        events.reduce(into: [:]) { outcomes, event in
            if case .settled(let token, let outcome) = event { outcomes[token, default: []].append(outcome) }
        }
    }

    var acknowledged: [UInt64] {
        events.compactMap { if case .mayAcknowledge(let token) = $0 { token } else { nil } }
    }

    func mayAcknowledge(_ token: UInt64) {
        state.withLock { $0.events.append(.mayAcknowledge(token)) }
    }

    func settle(_ token: UInt64, _ outcome: Outcome) {
        let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
            state.events.append(.settled(token, outcome))
            state.settled += 1
            guard let waiter = state.waiter, state.settled >= waiter.count else { return nil }
            state.waiter = nil
            return waiter.continuation
        }
        waiter?.resume()
    }

    func untilSettled(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let isReached = state.withLock { state in
                guard state.settled < count else { return true }
                state.waiter = (count, continuation)
                return false
            }
            if isReached { continuation.resume() }
        }
    }
}
