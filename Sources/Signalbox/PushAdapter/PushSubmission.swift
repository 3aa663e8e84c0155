public import SignalboxCore
import Synchronization

/// A message that a program has handed to a ``PushAdapter``, and its outcome. Safe to use from any thread.
///
/// The message goes on whether or not a task waits for it, also if this object is released.
public final class PushSubmission: Sendable {
    private enum Waiter {
        case outcome(UnsafeContinuation<Outcome, Never>)
        case custody(UnsafeContinuation<Bool, Never>)
    }

    private struct State {
        var outcome: Outcome?
        var isInCustody = false
        var waiters: [Waiter] = []
    }

    private let state = Mutex(State())
    private let queue: PushQueue

    init(queue: PushQueue) {
        self.queue = queue
    }

    /// The message's outcome, which is final. Reading this property waits until there is one.
    ///
    /// If the waiting task is cancelled, the message is withdrawn, unless a run of the adapter has already taken it from the
    /// queue. A message that is withdrawn has the outcome `abandoned(stop)` and is never handled. A message that is not has the
    /// outcome that its plugin decides, and the wait goes on until then.
    public var outcome: Outcome {
        get async {
            await withTaskCancellationHandler {
                await withUnsafeContinuation { continuation in
                    if let outcome = add(.outcome(continuation), unless: \.outcome) {
                        continuation.resume(returning: outcome)
                    }
                }
            } onCancel: {
                queue.withdraw(self)
            }
        }
    }

    /// Whether Signalbox has custody of the message. Reading this property waits until that is decided, also if the task is
    /// cancelled.
    ///
    /// A client of a queue acknowledges its message to the queue when this is `true`: the message is in the source's journal or,
    /// without a journal, is handled or a dead letter. If this is `false`, the message is abandoned, and the queue must deliver it
    /// again.
    public var isInCustody: Bool {
        get async {
            await withUnsafeContinuation { continuation in
                let answer = add(.custody(continuation)) { $0.isInCustody ? true : $0.outcome.map { _ in false } }
                if let answer { continuation.resume(returning: answer) }
            }
        }
    }

    /// The outcome if there is one already. Reading this property does not wait.
    public var currentOutcome: Outcome? { state.withLock { $0.outcome } }

    /// Adds a waiter if there is no answer yet.
    private func add<Answer: Sendable>(
        _ waiter: Waiter,
        unless answer: (State) -> Answer?
    ) -> Answer? {
        state.withLock { state in
            let known = answer(state)
            if known == nil { state.waiters.append(waiter) }
            return known
        }
    }

    func takeCustody() {
        let waiters = state.withLock { state in
            state.isInCustody = true
            let waiters = state.waiters
            state.waiters.removeAll { if case .custody = $0 { true } else { false } }
            return waiters
        }
        for case .custody(let continuation) in waiters { continuation.resume(returning: true) }
    }

    /// Sets the outcome. Called exactly once.
    func settle(_ outcome: Outcome) {
        let (waiters, isInCustody) = state.withLock { state in
            state.outcome = outcome
            defer { state.waiters = [] }
            return (state.waiters, state.isInCustody)
        }
        for waiter in waiters {
            switch waiter {
            case .outcome(let continuation): continuation.resume(returning: outcome)
            case .custody(let continuation): continuation.resume(returning: isInCustody)
            }
        }
    }
}
