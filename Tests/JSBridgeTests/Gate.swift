import Synchronization

/// A door that plugins wait at, without minding cancellation, until a test opens it.
final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var arrived = 0
        var waiting: [CheckedContinuation<Void, Never>] = []
        var watcher: (count: Int, continuation: CheckedContinuation<Void, Never>)?
    }

    private let state = Mutex(State())

    /// Waits until the gate is open.
    func pass() async {
        await withCheckedContinuation { continuation in
            let (isOpen, watcher) = state.withLock { state -> (Bool, CheckedContinuation<Void, Never>?) in
                state.arrived += 1
                if !state.isOpen { state.waiting.append(continuation) }
                guard let watcher = state.watcher, state.arrived >= watcher.count else { return (state.isOpen, nil) }
                state.watcher = nil
                return (state.isOpen, watcher.continuation)
            }
            watcher?.resume()
            if isOpen { continuation.resume() }
        }
    }

    /// Waits until so many have come to the gate.
    func untilArrived(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let isReached = state.withLock { state in
                guard state.arrived < count else { return true }
                state.watcher = (count, continuation)
                return false
            }
            if isReached { continuation.resume() }
        }
    }

    func open() {
        let waiting = state.withLock { state in
            state.isOpen = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }
}
