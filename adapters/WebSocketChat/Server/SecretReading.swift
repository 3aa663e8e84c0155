import AdapterThreads
import Synchronization

/// Reads tokens on a thread of its own, as files may keep it waiting.
final class SecretReading: Sendable {
    private typealias Answer = Result<PrincipalTokens, WebSocketChatError>?
    private typealias Waiter = CheckedContinuation<Answer, Never>

    private enum State {
        case open
        case waiting(Waiter)
        case answered(Answer)
    }

    private let state = Mutex(State.open)

    private init() {}

    /// - Returns: `nil` when the task was cancelled first; the thread is then left to end by itself.
    static func tokens(of principals: [WebSocketPrincipal]) async throws(WebSocketChatError) -> PrincipalTokens? {
        if principals.isEmpty { return try PrincipalTokens(reading: []) }
        let reading = SecretReading()
        do throws(NoSystemResource) {
            let thread = try OwnedThread {
                do throws(WebSocketChatError) {
                    reading.answer(.success(try PrincipalTokens(reading: principals)))
                } catch {
                    reading.answer(.failure(error))
                }
            }
            thread.leave()
        } catch {
            throw WebSocketChatError(.noResources, error.description)
        }
        let answer = await withTaskCancellationHandler {
            await withCheckedContinuation { reading.wait($0) }
        } onCancel: {
            reading.answer(nil)
        }
        return try answer?.get()
    }

    private func answer(_ answer: Answer) {
        let waiter = state.withLock { state -> Waiter? in
            if case .answered = state { return nil }
            defer { state = .answered(answer) }
            if case .waiting(let waiter) = state { return waiter }
            return nil
        }
        waiter?.resume(returning: answer)
    }

    private func wait(_ continuation: Waiter) {
        let answer = state.withLock { state -> Answer? in
            if case .answered(let answer) = state { return .some(answer) }
            state = .waiting(continuation)
            return nil
        }
        if let answer { continuation.resume(returning: answer) }
    }
}
