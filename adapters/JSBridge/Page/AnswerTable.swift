import AdapterSupport
package import SignalboxCore
import Synchronization

/// Tracks the callers in the program that are waiting for a page's answers. Safe to use from any thread.
package final class AnswerTable: Sendable {
    package typealias Answer = Result<Bytes?, PageCallError>

    private struct Caller {
        let continuation: CheckedContinuation<Answer, Never>
        let ended: @Sendable (UInt64) -> Void
    }

    private struct State {
        var callers: [UInt64: Caller] = [:]
        var isClosed = false
    }

    private let bound: Int
    private let state = Mutex(State())

    /// - Parameter bound: The maximum number of waiting callers.
    package init(bound: Int) {
        self.bound = bound
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
        asking ask: (UInt64) -> PageCallError?,
        ended: @escaping @Sendable (UInt64) -> Void = { _ in }
    ) async -> Answer {
        // The number is unique within the process, so a late answer matches no caller.
        let number = lastCall.add(1, ordering: .relaxed).newValue
        return await withDeadline(timeout) { [self] end in
            finish(number, .failure(end == .cancelled ? .cancelled : .noAnswer(within: timeout)))
        } begin: { caller in
            if let error = add(Caller(continuation: caller, ended: ended), number) {
                return caller.resume(returning: .failure(error))
            }
            if let error = Task.isCancelled ? .cancelled : ask(number) {
                finish(number, .failure(error))
            } else if !isWaiting(number) {
                // The wait ended before the call was sent, so the call must be removed here.
                ended(number)
            }
        }
    }

    private func add(_ caller: Caller, _ number: UInt64) -> PageCallError? {
        state.withLock { state in
            guard !state.isClosed else { return .closed }
            guard state.callers.count < bound else {
                return PageCallError(.full, "\(bound) calls are waiting for the page's answers")
            }
            state.callers[number] = caller
            return nil
        }
    }

    private func isWaiting(_ number: UInt64) -> Bool { state.withLock { $0.callers[number] != nil } }

    /// Resumes a caller. This method has no effect if the caller has already been resumed or belongs to a different
    /// page.
    package func finish(_ number: UInt64, _ answer: Answer) {
        guard let caller = state.withLock({ $0.callers.removeValue(forKey: number) }) else { return }
        caller.ended(number)
        caller.continuation.resume(returning: answer)
    }

    /// Fails all waiting callers, because the page is gone.
    ///
    /// - Parameter isLast: Whether to fail all future callers as well.
    package func failAll(isLast: Bool = false) {
        let callers = state.withLock { state in
            state.isClosed = state.isClosed || isLast
            defer { state.callers = [:] }
            return state.callers
        }
        for caller in callers.values { caller.continuation.resume(returning: .failure(.closed)) }
    }
}

private let lastCall = Atomic<UInt64>(0)

/// How a page answered a call. The names are those used by bridge.js.
package enum PageAnswerKind: String, Sendable {
    /// The listener returned a value.
    case returned
    /// The listener threw. The detail describes the error.
    case threw
    /// The listener's return value has no JSON form. The detail gives the reason.
    case invalidReply
    /// There is no listener, and the page has no room for another message that has none.
    case full
}

extension AnswerTable.Answer {
    /// Creates a call's result from the page's answer.
    ///
    /// - Parameters:
    ///   - kind: The kind that the page sent, or `nil` if it is unknown.
    ///   - value: The return value as JSON, or `nil` if the listener returned nothing.
    ///   - detail: The page's description of an error, which is truncated here.
    ///   - limit: The maximum size of the value, in bytes.
    package init(_ kind: PageAnswerKind?, _ value: Bytes?, detail: @autoclosure () -> String, limit: Int) {
        func error(_ code: PageCallError.Code) -> Self {
            .failure(PageCallError(code, String(detail().prefix(PageCallError.longestDetail))))
        }
        switch kind {
        case .returned where value.map({ $0.count > limit }) ?? false:
            self = .failure(PageCallError(.invalidReply, "the answer has more than \(limit) bytes"))
        case .returned: self = .success(value)
        case .threw: self = error(.threw)
        case .full: self = error(.full)
        case .invalidReply, nil: self = error(.invalidReply)
        }
    }
}
