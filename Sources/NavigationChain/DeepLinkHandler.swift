public import SignalboxRoutes

/// Passes URLs with the application's schemes to an opener, and cancels the navigation if the opener opens the URL.
///
/// Use this handler for links that the application opens itself, such as `myapp://product/42`. It ignores sub frames,
/// because otherwise an invisible frame could open anything.
public struct DeepLinkHandler: NavigationHandler {
    /// The name in verdicts and logs.
    public let name: String
    private let schemes: SchemeNames
    private let opener: @Sendable (URLText) async throws -> Bool

    /// Creates a handler for one or more schemes.
    ///
    /// - Parameters:
    ///   - schemes: Schemes such as `myapp`, without the colon. Letter case is ignored. You can also list web schemes,
    ///     to handle web links that lead into the application; the opener then receives all URLs with these schemes.
    ///   - name: The name in verdicts and logs.
    ///   - opener: A closure that opens the URL within the handler's deadline, and returns whether it did. If the
    ///     closure throws an error, the navigation is cancelled too.
    /// - Throws: ``NavigationChainError`` with the code `invalidScheme`, or `dangerousScheme` for a scheme such as
    ///   `intent`.
    public init(
        schemes: [String],
        name: String = "deepLink",
        opener: @escaping @Sendable (URLText) async throws -> Bool
    ) throws(NavigationChainError) {
        self.schemes = try SchemeNames(schemes, handler: name)
        guard !self.schemes.isEmpty else {
            throw NavigationChainError(.invalidScheme, "expected at least one scheme", handler: name)
        }
        self.name = name
        self.opener = opener
    }

    /// Returns whether the URL has one of the schemes and the request does not come from a sub frame.
    public func concerns(_ request: NavigationRequest) -> Bool {
        request.frame != .sub && schemes.contains(request.url)
    }

    /// Cancels the navigation if the URL was opened. Otherwise, passes the request on.
    public func decide(_ request: NavigationRequest) async throws -> NavigationDecision? {
        guard concerns(request), try await opener(request.url) else { return nil }
        return .cancel("opened natively: a deep link with the scheme \(request.url.scheme)")
    }
}
