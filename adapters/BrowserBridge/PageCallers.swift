import JSBridge
import SignalboxCore
import Synchronization

/// Who in the program waits for a page's answer. Any thread.
final class PageCallers: Sendable {
    typealias Answer = Result<Bytes?, PageCallError>
    private typealias Caller = CheckedContinuation<Answer, Never>

    private struct State {
        var callers: [UInt64: Caller] = [:]
        var isClosed = false
    }

    // Never given twice in a process, so what comes late meets nobody.
    private static let last = Atomic<UInt64>(0)
    private let bound: Int
    private let state = Mutex(State())

    /// - Parameter bound: how many may wait.
    init(bound: Int) {
        self.bound = bound
    }

    /// Waits for the answer to a question.
    ///
    /// - Parameter ask: puts the question, under the number that it is given; or says why it could not.
    func answer(within timeout: Duration, asking ask: (UInt64) -> PageCallError?) async -> Answer {
        let number = PageCallers.last.add(1, ordering: .relaxed).newValue
        let began = ContinuousClock.now
        async let _ = expire(number, after: timeout)
        return await withTaskCancellationHandler {
            await withCheckedContinuation { caller in
                wait(caller, number, ask)
                // A timer that ended before the caller was noted found nobody, and there is no other.
                if began.duration(to: .now) >= timeout { expire(number, timeout) }
            }
        } onCancel: {
            finish(number, .failure(PageCallError(.closed, "the caller was cancelled")))
        }
    }

    private func wait(_ caller: Caller, _ number: UInt64, _ ask: (UInt64) -> PageCallError?) {
        let refusal = state.withLock { state -> PageCallError? in
            guard !state.isClosed else { return PageCallers.closed }
            guard state.callers.count < bound else {
                return PageCallError(.full, "\(bound) calls wait for the page's answers")
            }
            state.callers[number] = caller
            return nil
        }
        if let refusal { return caller.resume(returning: .failure(refusal)) }
        // A cancellation before the caller was noted found nobody.
        if Task.isCancelled { return finish(number, .failure(PageCallError(.closed, "the caller was cancelled"))) }
        if let refusal = ask(number) { finish(number, .failure(refusal)) }
    }

    private func expire(_ number: UInt64, after timeout: Duration) async {
        if (try? await Task.sleep(for: timeout)) != nil { expire(number, timeout) }
    }

    private func expire(_ number: UInt64, _ timeout: Duration) {
        finish(number, .failure(PageCallError(.timeout, "no answer within \(timeout)")))
    }

    /// Ends a caller's wait; nothing happens when it has ended, or never was this page's.
    func finish(_ number: UInt64, _ answer: Answer) {
        let caller = state.withLock { $0.callers.removeValue(forKey: number) }
        caller?.resume(returning: answer)
    }

    /// Ends all waits, also those to come.
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
