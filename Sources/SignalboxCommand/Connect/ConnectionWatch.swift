import SignalboxCore
import Synchronization
import WebSocketChat

/// The open connection of a feed, for who wants to send on it. Any thread.
final class ConnectionWatch: Sendable {
    private struct State {
        var current: ChatConnection?
        var waiter: CheckedContinuation<ChatConnection?, Never>?
        var isCancelled = false
    }

    private let state = Mutex(State())

    /// The connection, or `nil` while there is none.
    var current: ChatConnection? { state.withLock { $0.current } }

    func opened(_ connection: ChatConnection) {
        let waiter = state.withLock { state in
            state.current = connection
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(returning: connection)
    }

    /// The connection is of no use any more.
    func closed(_ connection: ChatConnection) {
        state.withLock { if $0.current === connection { $0.current = nil } }
    }

    /// The open connection, waited for by one task at a time.
    ///
    /// - Returns: `nil` when the task is cancelled; after that always.
    func connection() async -> ChatConnection? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer = state.withLock { state -> ChatConnection?? in
                    if state.isCancelled { return .some(nil) }
                    if let current = state.current { return .some(current) }
                    state.waiter = continuation
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                state.isCancelled = true
                defer { state.waiter = nil }
                return state.waiter
            }
            waiter?.resume(returning: nil)
        }
    }
}
