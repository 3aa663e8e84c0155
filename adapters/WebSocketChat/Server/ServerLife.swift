import Synchronization

/// Whether a server runs, and where it listens. Any thread.
final class ServerLife: Sendable {
    private enum Phase: Equatable {
        case new, starting
        case listening(UInt16)
        case ended
    }

    private struct State {
        var phase = Phase.new
        var waiters: [UInt64: CheckedContinuation<UInt16?, Never>] = [:]
        var made: UInt64 = 0
    }

    private let state = Mutex(State())

    /// - Returns: `false` when a run is on already.
    func begin() -> Bool {
        state.withLock { state in
            switch state.phase {
            case .starting, .listening: return false
            case .new, .ended:
                state.phase = .starting
                return true
            }
        }
    }

    func listens(on port: UInt16) {
        go(to: .listening(port), telling: port)
    }

    func end() {
        go(to: .ended, telling: nil)
    }

    private func go(to phase: Phase, telling port: UInt16?) {
        let waiters = state.withLock { state in
            state.phase = phase
            defer { state.waiters = [:] }
            return state.waiters
        }
        for waiter in waiters.values { waiter.resume(returning: port) }
    }

    /// Where the run listens, as soon as it does; `nil` when it has ended, or the caller is cancelled.
    func port() async -> UInt16? {
        let number = state.withLock { state in
            state.made += 1
            return state.made
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { wait($0, number) }
        } onCancel: {
            giveUp(number)
        }
    }

    private func wait(_ continuation: CheckedContinuation<UInt16?, Never>, _ number: UInt64) {
        let known: UInt16?? = state.withLock { state in
            switch state.phase {
            case .listening(let port): return .some(port)
            case .ended: return .some(nil)
            case .new, .starting:
                state.waiters[number] = continuation
                return nil
            }
        }
        if let known { return continuation.resume(returning: known) }
        // A cancellation that came before the waiter was there has found nobody.
        if Task.isCancelled { giveUp(number) }
    }

    private func giveUp(_ number: UInt64) {
        let waiter = state.withLock { $0.waiters.removeValue(forKey: number) }
        waiter?.resume(returning: nil)
    }
}
