/// One question to one handler that may wait. It has an answer in time, whatever the handler does.
struct HandlerCall: Sendable {
    let handler: any NavigationHandler
    let calls: HandlerCalls
    let deadline: Duration
    let clock: any Clock<Duration>

    /// The two tasks are unstructured, as a task group waits for its children: a handler that ignores cancellation would
    /// hold the verdict for ever. They meet in a stream with room for one answer, which takes the first, drops whatever
    /// comes later, and ends when the task that waits is cancelled. Nothing is ever resumed twice.
    nonisolated(nonsending) func answer(to request: NavigationRequest) async -> NavigationAnswer {
        guard await calls.begin() else {
            return .failed("\(NavigationRouter.maximumCalls) calls of it have not returned")
        }
        let (answers, first) = AsyncStream.makeStream(of: NavigationAnswer.self, bufferingPolicy: .bufferingOldest(1))
        let work = Task { [handler, calls] in
            let answer = await HandlerCall.ask(handler, request)
            await calls.end()
            first.yield(answer)
        }
        let timer = Task { [clock, deadline] in
            // Throws when it is cancelled, as the answer is there; a clock that fails otherwise must not be waited for.
            try? await clock.sleep(for: deadline)
            if !Task.isCancelled { first.yield(.late) }
        }
        defer {
            work.cancel()
            timer.cancel()
        }
        for await answer in answers {
            return Task.isCancelled ? .abandoned : answer
        }
        return .abandoned
    }

    private static func ask(_ handler: any NavigationHandler, _ request: NavigationRequest) async -> NavigationAnswer {
        do {
            return NavigationAnswer(try await handler.decide(request))
        } catch {
            return NavigationAnswer(throwing: error)
        }
    }
}
