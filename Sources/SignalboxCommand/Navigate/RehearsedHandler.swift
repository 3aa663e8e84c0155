import NavigationChain

/// A handler that opens nothing: what it says it opened would be opened.
struct RehearsedHandler: NavigationHandler {
    private let handler: any NavigationHandler

    init(_ handler: any NavigationHandler) {
        self.handler = handler
    }

    var name: String { handler.name }

    func decide(_ request: NavigationRequest) async throws -> NavigationDecision? {
        try await handler.decide(request).map { NavigationDecision($0.policy, reason: "would be \($0.reason)") }
    }
}
