import Synchronization

/// Detects that a source has had no message for some time. Handling a message, for example writing it to a slow reader,
/// does not count as quiet time, and neither does the time without a connection.
final class QuietPeriod: Sendable {
    private struct State {
        /// The number of messages that are being handled.
        var handled = 0
        /// When the last message was handled, or `nil` if there was none.
        var lastMessage: ContinuousClock.Instant?
        var isOver = false
    }

    /// How often to look whether there is a connection.
    private static let pause: Duration = .milliseconds(50)

    private let length: Duration
    private let state = Mutex(State())

    /// - Parameter length: How long the source must have no message.
    init(_ length: Duration) {
        self.length = length
    }

    /// Whether the source was quiet for the whole period.
    var isOver: Bool { state.withLock { $0.isOver } }

    /// Handles a message.
    func interrupted<Result>(by handle: () async throws -> Result) async rethrows -> Result {
        begin()
        defer { end(at: .now) }
        return try await handle()
    }

    /// Takes note of a message that is about to be handled.
    func begin() {
        state.withLock { $0.handled += 1 }
    }

    /// Takes note that a message was handled.
    func end(at now: ContinuousClock.Instant) {
        state.withLock { state in
            state.handled -= 1
            state.lastMessage = now
        }
    }

    /// Returns when to check again, or `nil` if the period is over.
    ///
    /// - Parameter ready: Since when the source can have messages, or `nil` while it cannot.
    func check(at now: ContinuousClock.Instant, readySince ready: ContinuousClock.Instant?) -> ContinuousClock.Instant?
    {
        state.withLock { state in
            guard let ready else { return now + QuietPeriod.pause }
            guard state.handled == 0 else { return now + length }
            let end = max(ready, state.lastMessage ?? ready) + length
            state.isOver = end <= now
            return state.isOver ? nil : end
        }
    }

    /// Waits until the period is over. Returns early if the task is cancelled.
    func wait(readySince: () -> ContinuousClock.Instant?) async {
        while !Task.isCancelled, let next = check(at: .now, readySince: readySince()) {
            try? await Task.sleep(until: next, clock: .continuous)
        }
    }
}
