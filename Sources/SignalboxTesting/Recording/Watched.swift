import Synchronization

/// A value protected by a lock. Tasks can wait until a condition on the value holds, and every wait in the test kit is
/// built on this type.
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

    /// The current value.
    package var value: Value { state.withLock { $0.value } }

    /// Changes the value, and wakes the tasks whose condition now holds. `body` must not access this object.
    @discardableResult
    package func change<Result: Sendable>(_ body: (inout Value) -> Result) -> Result {
        let (result, ready) = state.withLock { state -> (Result, [Waiter]) in
            let result = body(&state.value)
            guard !state.waiters.isEmpty else { return (result, []) }
            // Tasks are woken in the order in which they started to wait, so that a simulated run can be reproduced.
            let ready = state.waiters.filter { $0.value.isSatisfied(state.value) }.sorted { $0.key < $1.key }
            for waiter in ready { state.waiters[waiter.key] = nil }
            return (result, ready.map(\.value))
        }
        for waiter in ready { waiter.continuation.resume(returning: true) }
        return result
    }

    /// Waits until the condition holds. The condition is evaluated after each change, while the lock is held.
    ///
    /// - Parameters:
    ///   - file: The file to report for this wait if the test run hangs. The default is the caller's file.
    ///   - line: The line to report with `file`.
    ///   - isSatisfied: The condition, which must not access this object.
    /// - Returns: `false` if the task was cancelled first.
    @discardableResult
    package func until(
        file: StaticString = #fileID,
        line: UInt = #line,
        _ isSatisfied: @escaping @Sendable (Value) -> Bool
    ) async -> Bool {
        let number = nextNumber()
        let open = OpenWaits.begin(OpenWaits.Location(file: file, line: line))
        let holds = await withTaskCancellationHandler {
            await wait(number, isSatisfied, respondsToCancellation: true)
        } onCancel: {
            cancelWait(number)
        }
        OpenWaits.end(open, wasCancelled: !holds)
        return holds
    }

    /// Waits until the condition holds, even if the task is cancelled.
    package func untilUncancelled(
        file: StaticString = #fileID,
        line: UInt = #line,
        _ isSatisfied: @escaping @Sendable (Value) -> Bool
    ) async {
        let open = OpenWaits.begin(OpenWaits.Location(file: file, line: line))
        _ = await wait(nextNumber(), isSatisfied, respondsToCancellation: false)
        OpenWaits.end(open, wasCancelled: false)
    }

    private func wait(
        _ number: UInt64,
        _ isSatisfied: @escaping @Sendable (Value) -> Bool,
        respondsToCancellation: Bool
    ) async -> Bool {
        await withUnsafeContinuation { continuation in
            let isReady = state.withLock { state in
                guard !isSatisfied(state.value) else { return true }
                state.waiters[number] = Waiter(isSatisfied: isSatisfied, continuation: continuation)
                return false
            }
            if isReady { return continuation.resume(returning: true) }
            // If the task was cancelled before the waiter was stored, the cancellation handler did not find the waiter.
            if respondsToCancellation, Task.isCancelled { cancelWait(number) }
        }
    }

    private func nextNumber() -> UInt64 {
        state.withLock { state in
            state.made += 1
            return state.made
        }
    }

    private func cancelWait(_ number: UInt64) {
        let waiter = state.withLock { $0.waiters.removeValue(forKey: number) }
        waiter?.continuation.resume(returning: false)
    }
}

/// A gate where plugins wait until a test opens it, even if they are cancelled.
package final class Gate: Sendable {
    private struct State: Sendable {
        var isOpen: Bool
        var arrived = 0
        /// How many tasks may pass while the gate is closed, in order of arrival.
        var passes = 0
    }

    private let state: Watched<State>

    package init(isOpen: Bool = false) {
        state = Watched(State(isOpen: isOpen))
    }

    /// Waits until the gate is open, or until ``admit(_:)`` lets this task through.
    package func pass(file: StaticString = #fileID, line: UInt = #line) async {
        let number = state.change { state in
            state.arrived += 1
            return state.arrived
        }
        await state.untilUncancelled(file: file, line: line) { $0.isOpen || $0.passes >= number }
    }

    /// Waits until a total of `count` tasks have arrived at the gate. If the task is cancelled, this method returns
    /// early.
    package func untilArrived(_ count: Int, file: StaticString = #fileID, line: UInt = #line) async {
        await state.until(file: file, line: line) { $0.arrived >= count }
    }

    /// The total number of tasks that have arrived at the gate.
    package var arrived: Int { state.value.arrived }

    /// Lets up to `count` more tasks through, in order of arrival.
    package func admit(_ count: Int) {
        state.change { $0.passes += count }
    }

    /// Opens the gate permanently.
    package func open() {
        state.change { $0.isOpen = true }
    }
}

/// Limits the time spent waiting for work that may hang.
enum TimeLimit {
    private enum Answer<Result: Sendable>: Sendable {
        case none
        case done(Result)
        case late
    }

    /// Returns the result of `work`, or the result of `late` if the time limit expires first. Overdue work is
    /// cancelled, but this function does not wait for it to finish.
    ///
    /// The tasks are detached, because a child task that hangs would block its parent.
    static func within<Result: Sendable>(
        _ limit: Duration,
        _ work: @escaping @Sendable () async -> Result,
        late: () -> Result
    ) async -> Result {
        let answer = Watched(Answer<Result>.none)
        let working = Task.detached {
            let result = await work()
            answer.change { if case .none = $0 { $0 = .done(result) } }
        }
        let timing = Task.detached {
            guard (try? await Task.sleep(for: limit)) != nil else { return }
            answer.change { if case .none = $0 { $0 = .late } }
        }
        await answer.until { if case .none = $0 { false } else { true } }
        timing.cancel()
        guard case .done(let result) = answer.value else {
            let result = late()
            working.cancel()
            return result
        }
        return result
    }
}
