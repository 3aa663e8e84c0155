public import SignalboxRoutes

/// Does something else than loading a site's home page, such as selecting the application's first tab, and cancels.
///
/// The home page is the URL with the site's origin and the path `/`, without a query and a fragment: `/?p=42` and `/#/cart`
/// are other pages to many sites. Sub frames are not its business.
public struct HomePageHandler: NavigationHandler {
    /// The name in verdicts and logs.
    public let name: String
    private let home: URLText
    private let kinds: Set<NavigationKind>
    private let open: @Sendable () async throws -> Void

    /// A handler of one site's home page.
    ///
    /// - Parameters:
    ///   - home: the site's root, such as `https://shop.example/`.
    ///   - kinds: what leads there; a page that the application loads itself is ``NavigationKind/other``.
    ///   - name: the name in verdicts and logs.
    ///   - open: what is done instead, within the handler's deadline. What it throws cancels too.
    /// - Throws: ``NavigationChainError``, `invalidHome`, when `home` is no `http` or `https` URL, or has a path, a
    ///   query or a fragment.
    public init(
        home: URLText,
        kinds: Set<NavigationKind> = NavigationKind.followed,
        name: String = "homePage",
        open: @escaping @Sendable () async throws -> Void
    ) throws(NavigationChainError) {
        guard home.webHost != nil, home.isRoot else {
            let detail = "the root of a site expected, such as https://shop.example/"
            throw NavigationChainError(.invalidHome, detail, handler: name)
        }
        self.home = home
        self.kinds = kinds
        self.name = name
        self.open = open
    }

    /// The home page, by one of the kinds, not in a sub frame.
    public func concerns(_ request: NavigationRequest) -> Bool {
        request.frame != .sub && kinds.contains(request.kind) && request.url.isRoot && request.url.origin == home.origin
    }

    /// Cancels when the home page was opened in the other way.
    public func decide(_ request: NavigationRequest) async throws -> NavigationDecision? {
        guard concerns(request) else { return nil }
        try await open()
        return .cancel("opened natively: the home page")
    }
}

extension URLText {
    fileprivate var isRoot: Bool { path == "/" && query == nil && fragment == nil }
}
