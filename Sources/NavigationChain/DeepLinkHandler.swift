public import SignalboxRoutes

/// Offers URLs of the application's own schemes to whoever opens them, and cancels when they were opened.
///
/// Sub frames are not its business: a frame that nobody sees could open anything.
public struct DeepLinkHandler: NavigationHandler {
    /// The name in verdicts and logs.
    public let name: String
    private let schemes: SchemeNames
    private let opener: @Sendable (URLText) async throws -> Bool

    /// A handler of some schemes.
    ///
    /// - Parameters:
    ///   - schemes: such as `myapp`, in any letter case, without the colon. Those of web pages are taken too, for links
    ///     into the application, and are then offered one and all.
    ///   - name: the name in verdicts and logs.
    ///   - opener: opens the URL within the handler's deadline and says whether it did. What it throws cancels too.
    /// - Throws: ``NavigationChainError``: `invalidScheme`; `dangerousScheme` for `javascript`, `intent` and the like.
    public init(
        schemes: [String],
        name: String = "deepLink",
        opener: @escaping @Sendable (URLText) async throws -> Bool
    ) throws(NavigationChainError) {
        self.schemes = try SchemeNames(schemes, handler: name)
        guard !self.schemes.isEmpty else {
            throw NavigationChainError(.invalidScheme, "at least one scheme expected", handler: name)
        }
        self.name = name
        self.opener = opener
    }

    /// A URL of the schemes, not in a sub frame.
    public func concerns(_ request: NavigationRequest) -> Bool {
        request.frame != .sub && schemes.contains(request.url)
    }

    /// Cancels when the URL was opened; `nil` when it was not.
    public func decide(_ request: NavigationRequest) async throws -> NavigationDecision? {
        guard concerns(request), try await opener(request.url) else { return nil }
        return .cancel("opened natively: a deep link of the scheme \(request.url.scheme)")
    }
}
