import Synchronization

/// Tracks the callers in the program that are waiting for a peer's answers. Safe to use from any thread.
package final class AnswerTable<Value: Sendable, Failure: Error>: Sendable {
    package typealias Answer = Result<Value, Failure>

    /// The errors with which the table itself ends a call.
    package struct Failures: Sendable {
        let closed: Failure
        let cancelled: Failure
        let full: @Sendable (Int) -> Failure
        let timeout: @Sendable (Duration) -> Failure

        /// - Parameters:
        ///   - closed: The error of a call whose peer is gone.
        ///   - cancelled: The error of a call whose task was cancelled.
        ///   - full: Creates the error of a call beyond the maximum number of waiting callers.
        ///   - timeout: Creates the error of a call that was not answered within this time.
        package init(
            closed: Failure,
            cancelled: Failure,
            full: @escaping @Sendable (Int) -> Failure,
            timeout: @escaping @Sendable (Duration) -> Failure
        ) {
            self.closed = closed
            self.cancelled = cancelled
            self.full = full
            self.timeout = timeout
        }
    }

    private struct Caller {
        let continuation: CheckedContinuation<Answer, Never>
        let ended: @Sendable (UInt64) -> Void
    }

    private struct State {
        var callers: [UInt64: Caller] = [:]
        var isClosed = false
    }

    private let bound: Int
    private let failures: Failures
    private let state = Mutex(State())

    /// - Parameter bound: The maximum number of waiting callers.
    package init(bound: Int, failures: Failures) {
        self.bound = bound
        self.failures = failures
    }

    package var isEmpty: Bool { state.withLock { $0.callers.isEmpty } }

    /// Waits for the answer to a call.
    ///
    /// - Parameters:
    ///   - ask: A closure that sends the call with the given number, or returns an error if the call cannot be sent.
    ///   - ended: A closure that is called before the caller resumes, unless ``failAll(isLast:)`` resumes the caller.
    ///     The closure may be called twice.
    package func answer(
        within timeout: Duration,
        asking ask: (UInt64) -> Failure?,
        ended: @escaping @Sendable (UInt64) -> Void = { _ in }
    ) async -> Answer {
        // The number is unique within the process, so a late answer matches no caller.
        let number = lastCall.add(1, ordering: .relaxed).newValue
        return await withDeadline(timeout) { [self] end in
            finish(number, .failure(end == .cancelled ? failures.cancelled : failures.timeout(timeout)))
        } begin: { caller in
            if let error = add(Caller(continuation: caller, ended: ended), number) {
                return caller.resume(returning: .failure(error))
            }
            if let error = Task.isCancelled ? failures.cancelled : ask(number) {
                finish(number, .failure(error))
            } else if !isWaiting(number) {
                // The wait ended before the call was sent, so the call must be removed here.
                ended(number)
            }
        }
    }

    private func add(_ caller: Caller, _ number: UInt64) -> Failure? {
        state.withLock { state in
            guard !state.isClosed else { return failures.closed }
            guard state.callers.count < bound else { return failures.full(bound) }
            state.callers[number] = caller
            return nil
        }
    }

    private func isWaiting(_ number: UInt64) -> Bool { state.withLock { $0.callers[number] != nil } }

    /// Resumes a caller. This method has no effect if the caller has already been resumed or belongs to a different
    /// peer.
    ///
    /// - Returns: Whether the caller was waiting.
    @discardableResult
    package func finish(_ number: UInt64, _ answer: Answer) -> Bool {
        guard let caller = state.withLock({ $0.callers.removeValue(forKey: number) }) else { return false }
        caller.ended(number)
        caller.continuation.resume(returning: answer)
        return true
    }

    /// Fails all waiting callers, because the peer is gone.
    ///
    /// - Parameter isLast: Whether to fail all future callers as well.
    package func failAll(isLast: Bool = false) {
        let callers = state.withLock { state in
            state.isClosed = state.isClosed || isLast
            defer { state.callers = [:] }
            return state.callers
        }
        for caller in callers.values { caller.continuation.resume(returning: .failure(failures.closed)) }
    }
}

private let lastCall = Atomic<UInt64>(0)
