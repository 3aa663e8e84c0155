import Signalbox
import SignalboxCore

/// Middleware that only passes on.
struct PassMiddleware: Middleware {
    func handle(_ context: ActionContext, next: MiddlewareNext) async -> Outcome { await next(context) }
}
