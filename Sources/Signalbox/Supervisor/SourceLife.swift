import Synchronization

/// Whether the adapter of a source runs, and whether it is asked to end before the others. Any thread.
final class SourceLife: Sendable {
    private struct State {
        var hasBegun = false
        /// The adapter has returned, or is not waited for any longer.
        var hasEnded = false
        var isAsked = false
        /// The tick from which on what is left is let go of.
        var end: UInt64?
        var waiters: [UnsafeContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())
    private let asks: AsyncStream<Void>
    private let asker: AsyncStream<Void>.Continuation

    init() {
        (asks, asker) = AsyncStream.makeStream(of: Void.self)
    }

    /// The adapter is about to be run.
    ///
    /// - Returns: `false` when it was asked to end before.
    func begin() -> Bool {
        state.withLock { state in
            guard !state.isAsked else { return false }
            state.hasBegun = true
            return true
        }
    }

    /// Asks the adapter to end.
    ///
    /// - Parameter end: the tick from which on what is left is let go of.
    /// - Returns: `false` when it was asked before.
    func ask(until end: UInt64) -> Bool {
        let isFirst = state.withLock { state in
            guard !state.isAsked else { return false }
            state.isAsked = true
            state.end = end
            return true
        }
        if isFirst { asker.finish() }
        return isFirst
    }

    /// Returns when the adapter is asked to end, or the task is cancelled.
    func untilAsked() async {
        for await _ in asks {}
    }

    var isAsked: Bool { state.withLock { $0.isAsked } }

    /// Whether what is left is let go of.
    func isOverdue(at now: UInt64) -> Bool {
        state.withLock { $0.end.map { now >= $0 } ?? false }
    }

    /// The adapter has returned, or is not waited for any longer.
    func end() {
        let waiters = state.withLock { state in
            state.hasEnded = true
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Returns after ``end()``; at once when the adapter was never run.
    func untilEnded() async {
        await withUnsafeContinuation { continuation in
            let hasEnded = state.withLock { state in
                if state.hasEnded || !state.hasBegun { return true }
                state.waiters.append(continuation)
                return false
            }
            if hasEnded { continuation.resume() }
        }
    }
}
