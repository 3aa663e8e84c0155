public import SignalboxRoutes

/// Opens links to foreign hosts in the user's browser and cancels the navigation.
///
/// The handler opens `http` and `https` URLs whose hosts are not listed, for links outside sub frames and for new
/// windows requested by any frame. It passes on all other loads, including those of frames and redirects. If your
/// application must not show foreign pages at all, add a handler after this one that decides on those loads.
public struct ExternalBrowserHandler: NavigationHandler {
    /// The name in verdicts and logs.
    public let name: String
    private let ownHosts: HostNames
    private let opener: @Sendable (URLText) async throws -> Void

    /// Creates a handler for all hosts except the listed ones.
    ///
    /// - Parameters:
    ///   - ownHosts: The application's hosts, on any port. As in ``HostHandler``, write `shop.example` or
    ///     `*.shop.example`.
    ///   - name: The name in verdicts and logs.
    ///   - opener: A closure that opens the URL in the browser within the handler's deadline. If the closure throws an
    ///     error, the navigation is cancelled too.
    /// - Throws: ``NavigationChainError`` with the code `invalidHost`.
    public init(
        ownHosts: [String],
        name: String = "externalBrowser",
        opener: @escaping @Sendable (URLText) async throws -> Void
    ) throws(NavigationChainError) {
        self.ownHosts = try HostNames(ownHosts, handler: name)
        self.name = name
        self.opener = opener
    }

    /// Returns whether the request is a link or a new window that leads to a page on a foreign host.
    public func concerns(_ request: NavigationRequest) -> Bool {
        leavesThePage(request) && request.url.webHost.map { !ownHosts.contains($0) } ?? false
    }

    /// Cancels the navigation if the URL was opened in the browser.
    public func decide(_ request: NavigationRequest) async throws -> NavigationDecision? {
        guard concerns(request), let host = request.url.webHost else { return nil }
        try await opener(request.url)
        return .cancel("opened in the browser: \(host) is not a listed host")
    }

    private func leavesThePage(_ request: NavigationRequest) -> Bool {
        request.kind == .newWindow || request.kind == .link && request.frame != .sub
    }
}
