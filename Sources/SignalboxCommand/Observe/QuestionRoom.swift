import Synchronization
import WebSocketChat

/// Limits how many questions wait for an answer on the threads that run plugins. Safe to use from any thread.
final class QuestionRoom: Sendable {
    /// How many questions may wait.
    let limit: Int
    private let waiting = Atomic<Int>(0)

    init(limit: Int) { self.limit = limit }

    /// Answers a question on the threads that run plugins.
    ///
    /// - Parameter isUrgent: Whether the question is answered although many others wait.
    /// - Returns: `false` if too many questions are waiting. `answer` is then not called.
    func ask(
        isUrgent: Bool = false,
        _ make: @escaping @Sendable () async -> HTTPAnswer,
        _ answer: @escaping @Sendable (HTTPAnswer) -> Void
    ) -> Bool {
        guard waiting.wrappingAdd(1, ordering: .relaxed).newValue <= limit * (isUrgent ? 2 : 1) else {
            waiting.wrappingSubtract(1, ordering: .relaxed)
            return false
        }
        Task {
            answer(await make())
            waiting.wrappingSubtract(1, ordering: .relaxed)
        }
        return true
    }
}
