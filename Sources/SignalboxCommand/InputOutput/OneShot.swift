import Synchronization

/// A value for a single waiter, sent by the first of several producers.
final class OneShot<Value: Sendable>: Sendable {
    private enum State {
        case open
        case waiting(CheckedContinuation<Value, Never>)
        case sent(Value)
        case done
    }

    private let state = Mutex(State.open)

    /// Sends the value. Only the first call has an effect.
    func send(_ value: Value) {
        let waiting = state.withLock { state -> CheckedContinuation<Value, Never>? in
            switch state {
            case .open: state = .sent(value)
            case .waiting(let continuation):
                state = .done
                return continuation
            case .sent, .done: break
            }
            return nil
        }
        waiting?.resume(returning: value)
    }

    /// Resumes the continuation with the value, immediately or when it is available. Called once.
    func wait(_ continuation: CheckedContinuation<Value, Never>) {
        let sent = state.withLock { state -> Value? in
            guard case .sent(let value) = state else {
                state = .waiting(continuation)
                return nil
            }
            state = .done
            return value
        }
        if let sent { continuation.resume(returning: sent) }
    }
}
