/// A handler in a chain, together with its name and deadline, which are read once so that they cannot change later.
struct ChainLink: Sendable {
    private enum Form {
        case synchronous(any SyncNavigationHandler)
        case asynchronous(any NavigationHandler, HandlerCalls)
    }

    private static let reserved: Set<String> = [
        NavigationVerdict.byFallback, NavigationVerdict.byURL, NavigationVerdict.byCaller,
    ]

    let name: String
    private let deadline: Duration?
    private let form: Form

    init(_ handler: any NavigationHandler) throws(NavigationChainError) {
        name = handler.name
        deadline = handler.deadline
        if let handler = handler as? any SyncNavigationHandler {
            form = .synchronous(handler)
        } else {
            form = .asynchronous(handler, HandlerCalls())
        }
        try checkName()
        if let deadline { try ChainLink.check(deadline, handler: name) }
    }

    static func check(_ deadline: Duration, handler: String = "") throws(NavigationChainError) {
        guard deadline > .zero, deadline <= NavigationRouter.maximumDeadline else {
            let detail = "a deadline must be above zero and at most \(NavigationRouter.maximumDeadline)"
            throw NavigationChainError(.invalidDeadline, detail, handler: handler)
        }
    }

    /// Calls the handler, unless the task is already cancelled.
    ///
    /// - Parameter limit: The chain's deadline, which applies if the handler has none.
    nonisolated(nonsending) func answer(
        to request: NavigationRequest,
        within limit: Duration,
        of clock: any Clock<Duration>
    ) async -> NavigationAnswer {
        guard !Task.isCancelled else { return .abandoned }
        switch form {
        case .synchronous(let handler): return ChainLink.call(handler, request)
        case .asynchronous(let handler, let calls):
            guard handler.concerns(request) else { return .passed }
            let call = HandlerCall(handler: handler, calls: calls, deadline: deadline ?? limit, clock: clock)
            return await call.answer(to: request)
        }
    }

    /// Returns the decision for the verdict, or `nil` if the handler's answer does not end the chain.
    func decision(for answer: NavigationAnswer, within limit: Duration) -> NavigationDecision? {
        switch answer {
        case .passed: nil
        case .decided(let decision): decision
        case .failed(let reason): .cancel("the handler failed: \(reason)")
        case .timedOut: .cancel("the handler did not answer within \(deadline ?? limit)")
        case .abandoned: .cancel(NavigationRouter.callerIsCancelled)
        }
    }

    /// Calls the handler. This method is synchronous, because a call from an asynchronous context would resolve to the
    /// asynchronous `decide`.
    private static func call(_ handler: any SyncNavigationHandler, _ request: NavigationRequest) -> NavigationAnswer {
        do {
            return NavigationAnswer(try handler.decide(request))
        } catch {
            return NavigationAnswer(throwing: error)
        }
    }

    private func checkName() throws(NavigationChainError) {
        let problem: String
        if name.isEmpty {
            problem = "a handler must have a name"
        } else if name.utf8.count > NavigationRouter.maximumNameLength {
            problem = "a handler's name has at most \(NavigationRouter.maximumNameLength) bytes"
        } else if name.unicodeScalars.contains(where: NavigationLogText.isUnsafe) {
            problem = "a handler's name must not contain control characters"
        } else if ChainLink.reserved.contains(name) {
            problem = "the name is reserved for verdicts without a handler; choose another"
        } else {
            return
        }
        throw NavigationChainError(.invalidName, problem, handler: name)
    }
}

/// A call to a handler that may suspend. The call always produces an answer by its deadline.
struct HandlerCall: Sendable {
    let handler: any NavigationHandler
    let calls: HandlerCalls
    let deadline: Duration
    let clock: any Clock<Duration>

    /// Calls the handler in a task and returns its answer, or `timedOut` if the deadline passes first.
    ///
    /// The two tasks are unstructured, because a task group would wait for a handler that ignores cancellation. Both
    /// tasks yield to a stream, which buffers the first answer and drops later ones. If the task that waits for the
    /// answer is cancelled, the stream ends.
    nonisolated(nonsending) func answer(to request: NavigationRequest) async -> NavigationAnswer {
        guard await calls.begin() else {
            return .failed("\(NavigationRouter.maximumCalls) of its calls have not returned")
        }
        let (answers, continuation) = AsyncStream.makeStream(
            of: NavigationAnswer.self,
            bufferingPolicy: .bufferingOldest(1)
        )
        let work = Task { [handler, calls] in
            let answer = await HandlerCall.call(handler, request)
            await calls.end()
            continuation.yield(answer)
        }
        let timer = Task { [clock, deadline] in
            // The sleep throws if it is cancelled after an answer. If the clock fails for any other reason, the wait
            // ends too.
            try? await clock.sleep(for: deadline)
            if !Task.isCancelled { continuation.yield(.timedOut) }
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

    private static func call(_ handler: any NavigationHandler, _ request: NavigationRequest) async -> NavigationAnswer {
        do {
            return NavigationAnswer(try await handler.decide(request))
        } catch {
            return NavigationAnswer(throwing: error)
        }
    }
}

/// Counts the calls to one handler that have not yet returned. All chains derived from one another share this count.
actor HandlerCalls {
    private var running = 0

    /// Counts a call, unless the maximum number of calls is already running.
    ///
    /// - Returns: `false` if the maximum number of calls is already running.
    func begin() -> Bool {
        guard running < NavigationRouter.maximumCalls else { return false }
        running += 1
        return true
    }

    func end() {
        running -= 1
    }
}
