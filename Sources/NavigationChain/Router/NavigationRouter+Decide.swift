public import SignalboxRoutes

extension NavigationRouter {
    /// The verdict about one request. It always comes: a handler that throws, or does not answer in time, cancels.
    ///
    /// When the task is cancelled the verdict is to cancel, at once, and so is the task of the handler being asked.
    nonisolated(nonsending) public func decide(_ request: NavigationRequest) async -> NavigationVerdict {
        var trace: [NavigationStep] = []
        for link in links {
            let answer = await link.answer(to: request, within: handlerDeadline, of: clock)
            trace.append(NavigationStep(name: link.name, answer: answer))
            guard let decision = link.decision(for: answer, within: handlerDeadline) else { continue }
            let decider = answer == .abandoned ? NavigationVerdict.byCaller : link.name
            return NavigationVerdict(decision, by: decider, about: request.url, trace: trace)
        }
        guard !Task.isCancelled else {
            let decision = NavigationDecision.cancel(NavigationRouter.callerIsCancelled)
            return NavigationVerdict(decision, by: NavigationVerdict.byCaller, about: request.url, trace: trace)
        }
        return NavigationVerdict(fallback, by: NavigationVerdict.byFallback, about: request.url, trace: trace)
    }

    /// The verdict about a URL as an engine names it.
    ///
    /// A text that `URLText` refuses is cancelled, with its reason, and no handler is asked. What is
    /// to be opened is the verdict's ``NavigationVerdict/url``, not the text that was given.
    nonisolated(nonsending) public func decide(
        _ text: String,
        kind: NavigationKind,
        frame: FrameRole,
        page: URLText? = nil
    ) async -> NavigationVerdict {
        do throws(URLTextError) {
            let url = try URLText(text)
            return await decide(NavigationRequest(url: url, kind: kind, frame: frame, page: page))
        } catch {
            return NavigationVerdict(refused: text, because: error)
        }
    }
}
