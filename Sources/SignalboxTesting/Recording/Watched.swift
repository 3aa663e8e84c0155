import Synchronization

/// A value behind a lock, and the tasks that wait until it is as they want it: what every wait of the test kit is made of.
package final class Watched<Value: Sendable>: Sendable {
    private struct Waiter {
        let isSatisfied: @Sendable (Value) -> Bool
        let continuation: UnsafeContinuation<Bool, Never>
    }

    private struct State {
        var value: Value
        var waiters: [UInt64: Waiter] = [:]
        var made: UInt64 = 0
    }

    private let state: Mutex<State>

    package init(_ value: Value) {
        state = Mutex(State(value: value))
    }

    /// The value as it is now.
    package var value: Value { state.withLock { $0.value } }

    /// Changes the value and wakes whoever waited for what it has become. `body` must not call back.
    @discardableResult
    package func change<Result: Sendable>(_ body: (inout Value) -> Result) -> Result {
        let (result, ready) = state.withLock { state -> (Result, [Waiter]) in
            let result = body(&state.value)
            guard !state.waiters.isEmpty else { return (result, []) }
            // Who came first is woken first, so that a simulated run can be repeated.
            let ready = state.waiters.filter { $0.value.isSatisfied(state.value) }.sorted { $0.key < $1.key }
            for waiter in ready { state.waiters[waiter.key] = nil }
            return (result, ready.map(\.value))
        }
        for waiter in ready { waiter.continuation.resume(returning: true) }
        return result
    }

    /// Waits until the condition holds, which is looked at after each change, under the lock.
    ///
    /// - Parameters:
    ///   - file: the file in which the wait is said to stand when a test run is cut; the caller's by default.
    ///   - line: its line there.
    ///   - isSatisfied: the condition. It must not call back.
    /// - Returns: `false` when the task was cancelled first.
    @discardableResult
    package func until(
        file: StaticString = #fileID,
        line: UInt = #line,
        _ isSatisfied: @escaping @Sendable (Value) -> Bool
    ) async -> Bool {
        let number = nextNumber()
        let open = OpenWaits.begin(OpenWaits.Place(file: file, line: line))
        let holds = await withTaskCancellationHandler {
            await wait(number, isSatisfied, mindsCancellation: true)
        } onCancel: {
            giveUp(number)
        }
        OpenWaits.end(open, wasCancelled: !holds)
        return holds
    }

    /// Waits until the condition holds, also when the task is cancelled.
    package func untilUncancelled(
        file: StaticString = #fileID,
        line: UInt = #line,
        _ isSatisfied: @escaping @Sendable (Value) -> Bool
    ) async {
        let open = OpenWaits.begin(OpenWaits.Place(file: file, line: line))
        _ = await wait(nextNumber(), isSatisfied, mindsCancellation: false)
        OpenWaits.end(open, wasCancelled: false)
    }

    private func wait(
        _ number: UInt64,
        _ isSatisfied: @escaping @Sendable (Value) -> Bool,
        mindsCancellation: Bool
    ) async -> Bool {
        await withUnsafeContinuation { continuation in
            let isReady = state.withLock { state in
                guard !isSatisfied(state.value) else { return true }
                state.waiters[number] = Waiter(isSatisfied: isSatisfied, continuation: continuation)
                return false
            }
            if isReady { return continuation.resume(returning: true) }
            // A cancellation that came before the waiter was there has found nobody.
            if mindsCancellation, Task.isCancelled { giveUp(number) }
        }
    }

    private func nextNumber() -> UInt64 {
        state.withLock { state in
            state.made += 1
            return state.made
        }
    }

    private func giveUp(_ number: UInt64) {
        let waiter = state.withLock { $0.waiters.removeValue(forKey: number) }
        waiter?.continuation.resume(returning: false)
    }
}
