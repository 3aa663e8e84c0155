import NavigationChain

/// The `navigation` part of a configuration.
struct NavigationSection: Sendable {
    /// Who is asked, in this order.
    let chain: [NavigationHandlerSection]
    /// What is decided when none of them decides.
    let fallback: NavigationPolicy
    /// How long each may take.
    let handlerDeadline: Duration

    /// The chain whose openers do nothing, and whose reasons say so.
    ///
    /// - Throws: `NavigationChainError` when the handlers do not go together.
    func rehearsal() throws(NavigationChainError) -> NavigationRouter {
        var handlers: [any NavigationHandler] = []
        for section in chain { handlers.append(try section.rehearsal()) }
        return try NavigationRouter(
            handlers,
            fallback: NavigationDecision(fallback, reason: "no handler decided"),
            handlerDeadline: handlerDeadline,
            clock: UntimedClock()
        )
    }
}
