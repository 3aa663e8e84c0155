public import SignalboxRoutes

/// A handler that passes URLs of the application's schemes to an opener. If the opener opens a URL, the handler cancels
/// the navigation.
///
/// Use it for links that the application opens itself, such as `myapp://product/42`. The handler ignores sub frames,
/// because an invisible frame could open anything.
public struct DeepLinkHandler: NavigationHandler {
    /// The name in verdicts and logs.
    public let name: String
    private let schemes: SchemeNames
    private let opener: @Sendable (URLText) async throws -> Bool

    /// Creates a handler for some schemes.
    ///
    /// - Parameters:
    ///   - schemes: Schemes such as `myapp`, without the colon. Letter case is ignored. Web schemes are accepted for
    ///     links into the application, and the opener then receives all URLs of these schemes.
    ///   - name: The name in verdicts and logs.
    ///   - opener: A closure that opens the URL within the deadline of the handler and returns whether it did. If the
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

    /// Cancels if the URL was opened, and passes the request on otherwise.
    public func decide(_ request: NavigationRequest) async throws -> NavigationDecision? {
        guard concerns(request), try await opener(request.url) else { return nil }
        return .cancel("opened natively: a deep link with the scheme \(request.url.scheme)")
    }
}
