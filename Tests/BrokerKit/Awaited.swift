import Synchronization

/// A value behind a lock, and the tasks that wait until it is as they want it.
public final class Awaited<Value: Sendable>: Sendable {
    private struct Waiter {
        let isSatisfied: @Sendable (Value) -> Bool
        let continuation: CheckedContinuation<Bool, Never>
    }

    private struct State {
        var value: Value
        var waiters: [Int: Waiter] = [:]
        var made = 0
    }

    private let state: Mutex<State>

    /// A value that nobody waits for yet.
    public init(_ value: Value) {
        state = Mutex(State(value: value))
    }

    /// The value as it is now.
    public var value: Value { state.withLock { $0.value } }

    /// Changes the value and wakes whoever waited for what it has become.
    @discardableResult
    public func change<Result: Sendable>(_ body: (inout Value) -> Result) -> Result {
        let (result, ready) = state.withLock { state in
            let result = body(&state.value)
            let value = state.value
            let ready = state.waiters.filter { $0.value.isSatisfied(value) }
            for key in ready.keys { state.waiters[key] = nil }
            return (result, ready.values.map(\.continuation))
        }
        for continuation in ready { continuation.resume(returning: true) }
        return result
    }

    /// Waits until the condition holds.
    ///
    /// - Throws: `CancellationError` when the task is cancelled first.
    public func until(_ isSatisfied: @escaping @Sendable (Value) -> Bool) async throws {
        let number = state.withLock { state in
            state.made += 1
            return state.made
        }
        let holds = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isReady = state.withLock { state in
                    guard !isSatisfied(state.value) else { return true }
                    state.waiters[number] = Waiter(isSatisfied: isSatisfied, continuation: continuation)
                    return false
                }
                if isReady { return continuation.resume(returning: true) }
                if Task.isCancelled { giveUp(number) }
            }
        } onCancel: {
            giveUp(number)
        }
        if !holds { throw CancellationError() }
    }

    private func giveUp(_ number: Int) {
        let waiter = state.withLock { $0.waiters.removeValue(forKey: number) }
        waiter?.continuation.resume(returning: false)
    }
}
