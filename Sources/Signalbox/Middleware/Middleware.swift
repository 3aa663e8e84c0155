public import SignalboxCore

/// Stands around the calls of plugins: sees each before and after, and may answer in the plugin's place.
///
/// It is the innermost part of the path of an action: access rules, repeats, deadline, rate limit, circuit breaker, lane,
/// attempts and timeout lie before it, so it is called once per attempt, on the plugin's lane, within the plugin's
/// timeout, and only for actions that may call the plugin. Of several the first that was used is the outermost; those
/// for all plugins lie around those of one. What the supervisor decides by itself, a refusal or a timeout, passes no
/// middleware: one that is an ``OutcomeObserver`` too is told of it.
///
/// Behind it the body is decoded. With ``LaneOrder/key(_:)`` that is done before the lane, as the lane has to know the key:
/// an action whose body does not decode then passes no middleware.
///
/// The calls of a `BatchPlugin` pass none, as one call is for many actions.
public protocol Middleware: Sendable {
    /// Passes the action on, or not, and answers with what became of it.
    ///
    /// - Parameters:
    ///   - context: the action; its body is not decoded yet, but with an order by key.
    ///   - next: what lies behind: further middleware, then the plugin. Called at most once.
    /// - Returns: the outcome of `next`, or another. A `Outcome.failed` that says it is retryable is
    ///   retried where the plugin has a ``RetryPolicy``; `Outcome.abandoned` lets the action go
    ///   unacknowledged.
    func handle(_ context: ActionContext, next: MiddlewareNext) async -> Outcome
}
