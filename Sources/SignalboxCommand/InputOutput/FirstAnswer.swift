import Synchronization

/// One answer for one who waits, given by the first of several that may know it.
final class FirstAnswer<Value: Sendable>: Sendable {
    private enum State {
        case open
        case waiting(CheckedContinuation<Value, Never>)
        case given(Value)
        case done
    }

    private let state = Mutex(State.open)

    /// The first answer counts; others are ignored.
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

    /// Resumes the continuation with the answer, now or when there is one. Called once.
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
