import Synchronization

/// A clock that stands still until a test moves it, and says when somebody sleeps on it.
final class ManualClock: Clock {
    struct Instant: InstantProtocol {
        var offset: Duration = .zero

        func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        func duration(to other: Instant) -> Duration { other.offset - offset }
        static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
    }

    private struct State {
        var now = Instant()
        var sleeper: (deadline: Instant, continuation: CheckedContinuation<Void, any Error>)?
        var watcher: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    var now: Instant { state.withLock { $0.now } }
    let minimumResolution = Duration.zero

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let watcher = state.withLock { state -> CheckedContinuation<Void, Never>? in
                    state.sleeper = (deadline, continuation)
                    defer { state.watcher = nil }
                    return state.watcher
                }
                watcher?.resume()
                if Task.isCancelled { cancel() }
            }
        } onCancel: {
            cancel()
        }
    }

    /// Moves the clock by `step`, `count` times, each time waiting until the sleeper has woken and sleeps again: when it
    /// returns, everything that was due has been done.
    func tick(_ count: Int, every step: Duration = .milliseconds(100)) async {
        for _ in 0..<count {
            await untilSomebodySleeps()
            let sleeper = state.withLock { state -> CheckedContinuation<Void, any Error>? in
                state.now = state.now.advanced(by: step)
                guard let sleeper = state.sleeper, sleeper.deadline <= state.now else { return nil }
                state.sleeper = nil
                return sleeper.continuation
            }
            sleeper?.resume()
        }
        await untilSomebodySleeps()
    }

    private func untilSomebodySleeps() async {
        await withCheckedContinuation { continuation in
            let isAsleep = state.withLock { state in
                guard state.sleeper == nil else { return true }
                state.watcher = continuation
                return false
            }
            if isAsleep { continuation.resume() }
        }
    }

    private func cancel() {
        let sleeper = state.withLock { state in
            defer { state.sleeper = nil }
            return state.sleeper?.continuation
        }
        sleeper?.resume(throwing: CancellationError())
    }
}
