public import SignalboxRoutes

/// A handler that opens links to foreign hosts in the user's browser and cancels the navigation.
///
/// It handles `http` and `https` URLs of hosts that are not listed: links, except those from a sub frame, and new
/// windows, from any frame. It passes on all other loads, including frames and redirects. A chain that must not show
/// foreign pages decides about those after this handler.
public struct ExternalBrowserHandler: NavigationHandler {
    /// The name in verdicts and logs.
    public let name: String
    private let ownHosts: HostNames
    private let opener: @Sendable (URLText) async throws -> Void

    /// Creates a handler for all hosts except the listed ones.
    ///
    /// - Parameters:
    ///   - ownHosts: The application's hosts, on any port, as in ``HostHandler``: `shop.example`, `*.shop.example`.
    ///   - name: The name in verdicts and logs.
    ///   - opener: Opens the URL in the browser within the handler's deadline. An error cancels too.
    /// - Throws: ``NavigationChainError``, `invalidHost`.
    public init(
        ownHosts: [String],
        name: String = "externalBrowser",
        opener: @escaping @Sendable (URLText) async throws -> Void
    ) throws(NavigationChainError) {
        self.ownHosts = try HostNames(ownHosts, handler: name)
        self.name = name
        self.opener = opener
    }

    /// Returns whether the request is a link or a new window for a page of a foreign host.
    public func concerns(_ request: NavigationRequest) -> Bool {
        leavesThePage(request) && request.url.webHost.map { !ownHosts.contains($0) } ?? false
    }

    /// Cancels if the browser opened the URL.
    public func decide(_ request: NavigationRequest) async throws -> NavigationDecision? {
        guard concerns(request), let host = request.url.webHost else { return nil }
        try await opener(request.url)
        return .cancel("opened in the browser: \(host) is not a listed host")
    }

    private func leavesThePage(_ request: NavigationRequest) -> Bool {
        request.kind == .newWindow || request.kind == .link && request.frame != .sub
    }
}
