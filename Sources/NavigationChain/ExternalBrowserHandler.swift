public import SignalboxRoutes

/// Hands links to other people's pages to the user's browser, and cancels.
///
/// Its business is an `http` or `https` URL of a host that is not ours: as a link that is not known to be a sub frame's, or
/// as a new window, whoever asks for it. Whatever else a page loads, frames and redirects among it, is passed on: a chain
/// that must not show foreign pages decides about them after this handler.
public struct ExternalBrowserHandler: NavigationHandler {
    /// The name in verdicts and logs.
    public let name: String
    private let ownHosts: HostNames
    private let opener: @Sendable (URLText) async throws -> Void

    /// A handler of all hosts but ours.
    ///
    /// - Parameters:
    ///   - ownHosts: as in ``HostHandler``: `shop.example`, `*.shop.example`; any port.
    ///   - name: the name in verdicts and logs.
    ///   - opener: opens the URL in the browser, within the handler's deadline. What it throws cancels too.
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

    /// A page of other hosts, as a link or a new window.
    public func concerns(_ request: NavigationRequest) -> Bool {
        leavesThePage(request) && request.url.webHost.map { !ownHosts.contains($0) } ?? false
    }

    /// Cancels when the URL was handed over.
    public func decide(_ request: NavigationRequest) async throws -> NavigationDecision? {
        guard concerns(request), let host = request.url.webHost else { return nil }
        try await opener(request.url)
        return .cancel("opened in the browser: \(host) is not one of our hosts")
    }

    private func leavesThePage(_ request: NavigationRequest) -> Bool {
        request.kind == .newWindow || request.kind == .link && request.frame != .sub
    }
}
