import Synchronization

/// A value that is set once and waited for by one task, also when that is cancelled. Any thread.
final class OneTimeValue<Value: Sendable>: Sendable {
    private enum State {
        case empty
        case awaited(CheckedContinuation<Value, Never>)
        case set(Value)
    }

    private let state = Mutex(State.empty)

    /// The first value counts.
    func set(_ value: Value) {
        let waiter = state.withLock { state -> CheckedContinuation<Value, Never>? in
            switch state {
            case .set: return nil
            case .empty:
                state = .set(value)
                return nil
            case .awaited(let continuation):
                state = .set(value)
                return continuation
            }
        }
        waiter?.resume(returning: value)
    }

    /// The value, waited for. One caller.
    func value() async -> Value {
        await withCheckedContinuation { continuation in
            let value = state.withLock { state -> Value? in
                if case .set(let value) = state { return value }
                state = .awaited(continuation)
                return nil
            }
            if let value { continuation.resume(returning: value) }
        }
    }
}
