/// A handler with a deadline of its own.
struct DeadlineHandler: NavigationHandler {
    let base: any NavigationHandler
    let deadline: Duration?

    var name: String { base.name }

    func concerns(_ request: NavigationRequest) -> Bool { base.concerns(request) }

    func decide(_ request: NavigationRequest) async throws -> NavigationDecision? {
        try await base.decide(request)
    }
}

extension NavigationHandler {
    /// This handler with another deadline than the chain's, such as for one that asks a server.
    ///
    /// - Parameter deadline: more than zero, at most ``NavigationRouter/maximumDeadline``; the chain refuses any other.
    public func answering(within deadline: Duration) -> some NavigationHandler {
        DeadlineHandler(base: self, deadline: deadline)
    }
}
