/// Middleware, and what it does with each message: of its acts the one at the message's index, again and again.
struct MiddlewareScenario: Sendable, Hashable {
    var acts = [MiddlewareAct.passes]

    func act(message: Int) -> MiddlewareAct { acts[message % acts.count] }
}

/// What middleware does with one message.
enum MiddlewareAct: Sendable, Hashable {
    case passes
    /// Passes it on after so many ticks.
    case waits(Int)
    /// Answers in the plugin's place.
    case answers
    /// Says in the plugin's place that it failed.
    case fails(retryable: Bool)
    /// Rejects it in the plugin's place.
    case rejects
    /// Lets go of it without passing it on.
    case abandons
    /// Passes it on, and lets go of it whatever became of it.
    case throwsAway
}
