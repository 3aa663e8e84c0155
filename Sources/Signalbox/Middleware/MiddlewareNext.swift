public import SignalboxCore

/// What lies behind a middleware: further middleware, then the plugin.
public struct MiddlewareNext: Sendable {
    /// The action that the plugin is registered for, in memory of its own: what a middleware may keep, or name its numbers
    /// by, as it never comes from a message.
    public let plugin: ActionName
    private let middleware: ArraySlice<any Middleware>
    private let call: @Sendable (ActionContext) async -> Outcome

    init(
        _ middleware: ArraySlice<any Middleware>,
        plugin: ActionName,
        call: @escaping @Sendable (ActionContext) async -> Outcome
    ) {
        self.plugin = plugin
        self.middleware = middleware
        self.call = call
    }

    /// Passes the action on.
    ///
    /// - Parameter context: the one the middleware was given.
    /// - Returns: the outcome of this attempt. `rejected(invalidBody)` when the body is not what the plugin takes; with
    ///   ``LaneOrder/key(_:)`` such an action does not get here.
    public func callAsFunction(_ context: ActionContext) async -> Outcome {
        guard let first = middleware.first else { return await call(context) }
        return await first.handle(context, next: MiddlewareNext(middleware.dropFirst(), plugin: plugin, call: call))
    }
}
