import Synchronization

/// Detects that a source has had no message for some time. Handling a message, for example writing it to a slow reader,
/// does not count as quiet time.
final class QuietPeriod: Sendable {
    private struct State {
        /// The number of messages that are being handled.
        var handled = 0
        /// When the last message was handled, or when the wait began.
        var since = ContinuousClock.now
        var isOver = false
    }

    private let length: Duration
    private let state = Mutex(State())

    /// - Parameter length: How long the source must have no message.
    init(_ length: Duration) {
        self.length = length
    }

    /// Whether ``wait()`` has detected the quiet period.
    var isOver: Bool { state.withLock { $0.isOver } }

    /// Handles a message.
    func interrupted<Result>(by handle: () async throws -> Result) async rethrows -> Result {
        state.withLock { $0.handled += 1 }
        defer {
            state.withLock { state in
                state.handled -= 1
                state.since = .now
            }
        }
        return try await handle()
    }

    /// Waits until the source has been quiet from now on. Returns early if the task is cancelled.
    func wait() async {
        state.withLock { $0.since = .now }
        while !Task.isCancelled {
            let end = state.withLock { state -> ContinuousClock.Instant? in
                guard state.handled == 0 else { return .now + length }
                state.isOver = state.since + length <= .now
                return state.isOver ? nil : state.since + length
            }
            guard let end else { return }
            try? await Task.sleep(until: end, clock: .continuous)
        }
    }
}
