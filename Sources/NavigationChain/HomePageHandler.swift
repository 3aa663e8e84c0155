public import SignalboxRoutes

/// Performs an action instead of loading a site's home page, and cancels the navigation.
///
/// Use this handler to return to an application's start screen when a page links to the home page. The home page is the
/// URL with the site's origin and the path `/`, without a query or fragment, because on many sites `/?p=42` and
/// `/#/cart` are different pages. The handler ignores sub frames.
public struct HomePageHandler: NavigationHandler {
    /// The name in verdicts and logs.
    public let name: String
    private let home: URLText
    private let kinds: Set<NavigationKind>
    private let open: @Sendable () async throws -> Void

    /// Creates a handler for the home page of one site.
    ///
    /// - Parameters:
    ///   - home: The root of the site, such as `https://shop.example/`.
    ///   - kinds: The kinds of navigation to handle. Pages that the application loads itself have the kind
    ///     ``NavigationKind/other``.
    ///   - name: The name in verdicts and logs.
    ///   - open: A closure that performs the action within the handler's deadline. If the closure throws an error, the
    ///     navigation is cancelled too.
    /// - Throws: ``NavigationChainError`` with the code `invalidHome` if `home` is not the root of an `http` or `https`
    ///   site.
    public init(
        home: URLText,
        kinds: Set<NavigationKind> = NavigationKind.followed,
        name: String = "homePage",
        open: @escaping @Sendable () async throws -> Void
    ) throws(NavigationChainError) {
        guard home.webHost != nil, home.isRoot else {
            let detail = "expected the root of a site, such as https://shop.example/"
            throw NavigationChainError(.invalidHome, detail, handler: name)
        }
        self.home = home
        self.kinds = kinds
        self.name = name
        self.open = open
    }

    /// Returns whether the request is for the home page, has one of the kinds and does not come from a sub frame.
    public func concerns(_ request: NavigationRequest) -> Bool {
        request.frame != .sub && kinds.contains(request.kind) && request.url.isRoot && request.url.origin == home.origin
    }

    /// Cancels the navigation if the request is for the home page and the action succeeded.
    public func decide(_ request: NavigationRequest) async throws -> NavigationDecision? {
        guard concerns(request) else { return nil }
        try await open()
        return .cancel("opened natively: the home page")
    }
}

extension URLText {
    fileprivate var isRoot: Bool { path == "/" && query == nil && fragment == nil }
}
