public import SignalboxRoutes

/// Opens a screen of the application for URLs that match a pattern, and cancels the navigation.
///
/// Use this handler to show a screen, such as a product screen, in place of a page. The handler ignores sub frames and
/// any kind of navigation that is not listed.
public struct PathHandler: NavigationHandler {
    /// The maximum number of patterns in a handler.
    public static let maximumPatterns = 1_000

    /// The name in verdicts and logs.
    public let name: String
    private let table: RouteTable<Void>
    /// The hosts, or `nil` if the patterns contain the hosts.
    private let hosts: HostNames?
    private let kinds: Set<NavigationKind>
    private let open: @Sendable (NavigationRequest, RouteCaptures) async throws -> Void

    /// Creates a handler for URLs that match at least one pattern.
    ///
    /// - Parameters:
    ///   - name: The name in verdicts and logs.
    ///   - patterns: Between 1 and ``maximumPatterns`` patterns, each of which is the text of a `URLPattern`. If you
    ///     pass `hosts`, each pattern must begin with a slash. Otherwise, each pattern must begin with a scheme, as in
    ///     `https://shop.example/product/{id:int}`.
    ///   - hosts: The hosts whose `http` and `https` pages the patterns match, on any port. As in ``HostHandler``,
    ///     write `shop.example` or `*.shop.example`.
    ///   - kinds: The kinds of navigation to handle. Pages that the application loads itself have the kind
    ///     ``NavigationKind/other``.
    ///   - open: A closure that opens the screen within the handler's deadline. The closure receives the captures from
    ///     the host, the path and the query. The navigation is cancelled too if the closure throws an error, or if the
    ///     query is malformed or repeats a captured item.
    /// - Throws: ``NavigationChainError`` with the code `invalidPattern` or `invalidHost`.
    public init(
        name: String,
        patterns: [String],
        hosts: [String]? = nil,
        kinds: Set<NavigationKind> = NavigationKind.followed,
        open: @escaping @Sendable (NavigationRequest, RouteCaptures) async throws -> Void
    ) throws(NavigationChainError) {
        self.name = name
        self.hosts = if let hosts { try HostNames(hosts, handler: name) } else { nil }
        self.kinds = kinds
        self.open = open
        table = try PathHandler.table(of: patterns, beginWithSlash: hosts != nil, handler: name)
    }

    /// Returns whether the URL has one of the hosts, and the request has one of the kinds and does not come from a sub
    /// frame.
    public func concerns(_ request: NavigationRequest) -> Bool {
        request.frame != .sub && kinds.contains(request.kind) && isListedHost(request.url)
    }

    /// Cancels the navigation if a pattern matches and the screen was opened.
    ///
    /// A path that cannot be read (`URLPathRules.lenient`) matches no pattern. If a pattern is for the URL's host, the
    /// navigation is cancelled, so that no page avoids this handler with a stray `%`.
    public func decide(_ request: NavigationRequest) async throws -> NavigationDecision? {
        if concerns(request), request.url.hasUnreadablePath, table.hasPattern(forHostOf: request.url) {
            return .cancel("its path cannot be read, and this handler decides about paths of the host")
        }
        guard concerns(request), let match = table.match(request.url) else { return nil }
        let query = try match.pattern.queryValues(of: request.url)
        try await open(request, RouteCaptures(Array(match.captures) + query))
        return .cancel("opened natively: \(match.pattern)")
    }

    private func isListedHost(_ url: URLText) -> Bool {
        guard let hosts else { return true }
        return url.webHost.map(hosts.contains) ?? false
    }

    private static func table(
        of texts: [String],
        beginWithSlash: Bool,
        handler: String
    ) throws(NavigationChainError) -> RouteTable<Void> {
        guard !texts.isEmpty, texts.count <= maximumPatterns else {
            throw NavigationChainError(.invalidPattern, "expected 1 to \(maximumPatterns) patterns", handler: handler)
        }
        var routes: [(pattern: URLPattern, value: Void)] = []
        for text in texts {
            routes.append((try pattern(text, beginsWithSlash: beginWithSlash, handler: handler), ()))
        }
        do throws(RoutePatternError) {
            return try RouteTable(routes)
        } catch {
            throw NavigationChainError(.invalidPattern, "\(error)", handler: handler)
        }
    }

    private static func pattern(
        _ text: String,
        beginsWithSlash: Bool,
        handler: String
    ) throws(NavigationChainError) -> URLPattern {
        let pattern: URLPattern
        do throws(RoutePatternError) {
            pattern = try URLPattern(text)
        } catch {
            throw NavigationChainError(.invalidPattern, "the pattern \(text): \(error)", handler: handler)
        }
        guard (pattern.scheme == nil) == beginsWithSlash else {
            let detail =
                beginsWithSlash
                ? "the pattern \(text) already names a host; leave out `hosts`, or begin the pattern with a slash"
                : "the pattern \(text) names no host; set `hosts`, or begin the pattern with scheme and host"
            throw NavigationChainError(.invalidPattern, detail, handler: handler)
        }
        return pattern
    }
}
