import Synchronization

/// A value for a single waiter, provided by the first of several producers.
final class FirstAnswer<Value: Sendable>: Sendable {
    private enum State {
        case open
        case waiting(CheckedContinuation<Value, Never>)
        case given(Value)
        case done
    }

    private let state = Mutex(State.open)

    /// Provides the value. Only the first call has an effect.
    func give(_ value: Value) {
        let waiting = state.withLock { state -> CheckedContinuation<Value, Never>? in
            switch state {
            case .open: state = .given(value)
            case .waiting(let continuation):
                state = .done
                return continuation
            case .given, .done: break
            }
            return nil
        }
        waiting?.resume(returning: value)
    }

    /// Resumes the continuation with the value, immediately or when it is available. Called once.
    func wait(_ continuation: CheckedContinuation<Value, Never>) {
        let given = state.withLock { state -> Value? in
            guard case .given(let value) = state else {
                state = .waiting(continuation)
                return nil
            }
            state = .done
            return value
        }
        if let given { continuation.resume(returning: given) }
    }
}
