import Synchronization

/// How far a run of a server is, between its task, which must not wait for the thread, and its thread, which must not wait
/// for tasks. Any thread.
final class ServerSteps: Sendable {
    /// In this order; a step may be left out.
    enum Step: Int, Comparable {
        case serving
        /// Asked of the thread: let nobody in and read nothing more.
        case stopping
        /// Told by the thread: all that was read was submitted or let go of.
        case quiet
        /// Asked of the thread: tell the clients, as all they can be told otherwise is on its way.
        case leaving
        /// Told by the thread: the clients have gone, or had the time for it.
        case gone

        static func < (left: Step, right: Step) -> Bool { left.rawValue < right.rawValue }
    }

    private struct State {
        var step = Step.serving
        var waiters: [(step: Step, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Mutex(State())

    var current: Step { state.withLock { $0.step } }

    /// Goes on to a step; nothing happens when it was reached before.
    func advance(to step: Step) {
        let ready = state.withLock { state in
            state.step = max(state.step, step)
            let reached = state.step
            let ready = state.waiters.filter { $0.step <= reached }
            state.waiters.removeAll { $0.step <= reached }
            return ready
        }
        for waiter in ready { waiter.continuation.resume() }
    }

    /// Waits for a step, also in a cancelled task.
    func reached(_ step: Step) async {
        await withCheckedContinuation { continuation in
            let isReached = state.withLock { state in
                if state.step >= step { return true }
                state.waiters.append((step, continuation))
                return false
            }
            if isReached { continuation.resume() }
        }
    }
}
