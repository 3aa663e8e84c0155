import JSBridge
import SignalboxCore
import Synchronization

/// The program's callers that wait for a page's answers. Safe on any thread.
final class PageCallers: Sendable {
    typealias Answer = Result<Bytes?, PageCallError>
    private typealias Caller = CheckedContinuation<Answer, Never>

    private struct State {
        var callers: [UInt64: Caller] = [:]
        var isClosed = false
    }

    // Numbers are unique per process, so a late answer matches no caller.
    private static let last = Atomic<UInt64>(0)
    private let bound: Int
    private let state = Mutex(State())

    /// - Parameter bound: The maximum number of waiting callers.
    init(bound: Int) {
        self.bound = bound
    }

    /// Waits for the answer to a call.
    ///
    /// - Parameter send: Sends the call with the given number. Returns an error if it cannot.
    func answer(within timeout: Duration, sending send: (UInt64) -> PageCallError?) async -> Answer {
        let number = PageCallers.last.add(1, ordering: .relaxed).newValue
        let began = ContinuousClock.now
        async let _ = expire(number, after: timeout)
        return await withTaskCancellationHandler {
            await withCheckedContinuation { caller in
                wait(caller, number, send)
                // A timer that fired before the caller was stored did not find it and does not fire again.
                if began.duration(to: .now) >= timeout { expire(number, timeout) }
            }
        } onCancel: {
            finish(number, .failure(PageCallError(.closed, "the caller was cancelled")))
        }
    }

    private func wait(_ caller: Caller, _ number: UInt64, _ send: (UInt64) -> PageCallError?) {
        let refusal = state.withLock { state -> PageCallError? in
            guard !state.isClosed else { return PageCallers.closed }
            guard state.callers.count < bound else {
                return PageCallError(.full, "\(bound) calls are waiting for the page's answers")
            }
            state.callers[number] = caller
            return nil
        }
        if let refusal { return caller.resume(returning: .failure(refusal)) }
        // A cancellation before the caller was stored did not find it.
        if Task.isCancelled { return finish(number, .failure(PageCallError(.closed, "the caller was cancelled"))) }
        if let refusal = send(number) { finish(number, .failure(refusal)) }
    }

    private func expire(_ number: UInt64, after timeout: Duration) async {
        if (try? await Task.sleep(for: timeout)) != nil { expire(number, timeout) }
    }

    private func expire(_ number: UInt64, _ timeout: Duration) {
        finish(number, .failure(PageCallError(.timeout, "no answer within \(timeout)")))
    }

    /// Resumes a caller. Does nothing if the caller has already been resumed or belongs to another page.
    func finish(_ number: UInt64, _ answer: Answer) {
        let caller = state.withLock { $0.callers.removeValue(forKey: number) }
        caller?.resume(returning: answer)
    }

    /// Fails all waiting and future callers.
    func close() {
        let callers = state.withLock { state in
            state.isClosed = true
            defer { state.callers = [:] }
            return state.callers
        }
        for caller in callers.values { caller.resume(returning: .failure(PageCallers.closed)) }
    }

    private static let closed = PageCallError(.closed, "the page is gone")
}
