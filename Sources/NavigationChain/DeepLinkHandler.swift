public import SignalboxRoutes

/// A handler that passes URLs of the application's own schemes to an opener, and cancels if they were opened.
///
/// It ignores sub frames, because an invisible frame could open anything.
public struct DeepLinkHandler: NavigationHandler {
    /// The name in verdicts and logs.
    public let name: String
    private let schemes: SchemeNames
    private let opener: @Sendable (URLText) async throws -> Bool

    /// Creates a handler for some schemes.
    ///
    /// - Parameters:
    ///   - schemes: Schemes such as `myapp`, without the colon; case is ignored. Web schemes are accepted, for links
    ///     into the application. The opener then receives all their URLs.
    ///   - name: The name in verdicts and logs.
    ///   - opener: Opens the URL within the handler's deadline and returns whether it did. An error cancels too.
    /// - Throws: ``NavigationChainError``: `invalidScheme`, or `dangerousScheme`, for example for `intent`.
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

    /// Returns whether the URL has one of the schemes and the request is not from a sub frame.
    public func concerns(_ request: NavigationRequest) -> Bool {
        request.frame != .sub && schemes.contains(request.url)
    }

    /// Cancels if the URL was opened, and returns `nil` otherwise.
    public func decide(_ request: NavigationRequest) async throws -> NavigationDecision? {
        guard concerns(request), try await opener(request.url) else { return nil }
        return .cancel("opened natively: a deep link with the scheme \(request.url.scheme)")
    }
}
