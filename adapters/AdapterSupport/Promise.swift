import Synchronization

/// A value that is set once and that any number of tasks can wait for. A promise is safe to use from any thread.
package final class Promise<Value: Sendable>: Sendable {
    private struct State {
        var value: Value?
        var waiters: [UInt64: @Sendable (Value) -> Void] = [:]
        var lastNumber: UInt64 = 0
    }

    private let state: Mutex<State>

    /// - Parameter value: The value, if it is already known.
    package init(_ value: Value? = nil) {
        state = Mutex(State(value: value))
    }

    /// The value, or `nil` if it has not been set yet.
    package var current: Value? { state.withLock { $0.value } }

    /// Sets the value. If the promise already has a value, this method does nothing.
    ///
    /// - Returns: Whether the promise had no value before.
    @discardableResult
    package func set(_ value: Value) -> Bool {
        let waiters = state.withLock { state -> [@Sendable (Value) -> Void]? in
            guard state.value == nil else { return nil }
            state.value = value
            defer { state.waiters = [:] }
            return Array(state.waiters.values)
        }
        for waiter in waiters ?? [] { waiter(value) }
        return waiters != nil
    }

    /// Waits for the value. Cancelling the task does not end this wait.
    package func value() async -> Value {
        await withCheckedContinuation { waiter in _ = add { waiter.resume(returning: $0) } }
    }

    /// Waits for the value, or returns `nil` if the task is cancelled before the value is set.
    package func valueUnlessCancelled() async -> Value? {
        let result = Promise<Value?>()
        let number = add { result.set($0) }
        return await withTaskCancellationHandler {
            await result.value()
        } onCancel: {
            state.withLock { $0.waiters[number] = nil }
            result.set(nil)
        }
    }

    /// Calls a closure with the value: on the thread that sets it, or at once if it is already set.
    package func onValue(_ action: @escaping @Sendable (Value) -> Void) { _ = add(action) }

    private func add(_ waiter: @escaping @Sendable (Value) -> Void) -> UInt64 {
        let (number, value) = state.withLock { state -> (UInt64, Value?) in
            state.lastNumber += 1
            if state.value == nil { state.waiters[state.lastNumber] = waiter }
            return (state.lastNumber, state.value)
        }
        if let value { waiter(value) }
        return number
    }
}

extension OwnedThread {
    /// Runs blocking work, such as reading a file, on a separate thread.
    ///
    /// - Returns: A promise for the result. The thread ends by itself, even if no task waits for the promise.
    package static func promise<Value: Sendable>(
        of work: @escaping @Sendable () -> Value
    ) throws(SystemResourceError) -> Promise<Value> {
        let result = Promise<Value>()
        try OwnedThread { result.set(work()) }.detach()
        return result
    }
}

/// The reason why a wait ended without a result.
package enum WaitEnd: Sendable { case timeout, cancelled }

/// Waits for a result, for at most `limit`.
///
/// - Parameters:
///   - giveUp: A closure that resumes the waiter if the waiter does not have a result yet. The closure is called at the
///     deadline and when the task is cancelled, on any thread.
///   - begin: A closure that either stores the waiter or resumes it.
package func withDeadline<Result: Sendable>(
    _ limit: Duration,
    giveUp: @escaping @Sendable (WaitEnd) -> Void,
    begin: (CheckedContinuation<Result, Never>) -> Void
) async -> Result {
    let deadline = ContinuousClock.now + limit
    async let _ = expire(at: deadline, giveUp)
    return await withTaskCancellationHandler {
        await withCheckedContinuation { waiter in
            begin(waiter)
            // If the task was cancelled or the deadline passed before this point, there was no waiter to resume yet.
            if Task.isCancelled { giveUp(.cancelled) }
            if .now >= deadline { giveUp(.timeout) }
        }
    } onCancel: {
        giveUp(.cancelled)
    }
}

private func expire(at deadline: ContinuousClock.Instant, _ giveUp: @Sendable (WaitEnd) -> Void) async {
    if (try? await Task.sleep(until: deadline, clock: .continuous)) != nil { giveUp(.timeout) }
}
