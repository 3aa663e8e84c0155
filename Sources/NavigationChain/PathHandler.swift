public import SignalboxRoutes

/// Opens natively what some patterns match, and cancels: a product's screen in place of a product's page.
///
/// Sub frames are not its business, nor are kinds of navigation that it is not told of.
public struct PathHandler: NavigationHandler {
    /// The most patterns of one handler.
    public static let maximumPatterns = 1_000

    /// The name in verdicts and logs.
    public let name: String
    private let table: RouteTable<Void>
    /// `nil` when the patterns themselves say whose paths they are.
    private let hosts: HostNames?
    private let kinds: Set<NavigationKind>
    private let open: @Sendable (NavigationRequest, RouteCaptures) async throws -> Void

    /// A handler of the URLs that at least one of the patterns matches.
    ///
    /// - Parameters:
    ///   - name: the name in verdicts and logs.
    ///   - patterns: 1 to ``maximumPatterns`` texts of a `URLPattern`. Either each begins with a scheme, as
    ///     `https://shop.example/product/{id:int}` does, and `hosts` is `nil`; or each begins with a slash, and `hosts`
    ///     says whose paths they are.
    ///   - hosts: as in ``HostHandler``: `shop.example`, `*.shop.example`; of `http` and `https`, with any port.
    ///   - kinds: what leads there; a page that the application loads itself is ``NavigationKind/other``.
    ///   - open: opens the screen within the handler's deadline. It gets what the pattern names in host, path and query.
    ///     What it throws cancels too, as does a query that cannot be read or has a named item twice.
    /// - Throws: ``NavigationChainError``: `invalidPattern` and `invalidHost`.
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

    /// A URL of the hosts, by one of the kinds, not in a sub frame.
    public func concerns(_ request: NavigationRequest) -> Bool {
        request.frame != .sub && kinds.contains(request.kind) && isOurs(request.url)
    }

    /// Cancels when a pattern matches and the screen was opened.
    public func decide(_ request: NavigationRequest) async throws -> NavigationDecision? {
        guard concerns(request), let match = table.match(request.url) else { return nil }
        let query = try match.pattern.queryValues(of: request.url)
        try await open(request, RouteCaptures(Array(match.captures) + query))
        return .cancel("opened natively: \(match.pattern)")
    }

    private func isOurs(_ url: URLText) -> Bool {
        guard let hosts else { return true }
        return url.webHost.map(hosts.contains) ?? false
    }

    private static func table(
        of texts: [String],
        beginWithSlash: Bool,
        handler: String
    ) throws(NavigationChainError) -> RouteTable<Void> {
        guard !texts.isEmpty, texts.count <= maximumPatterns else {
            throw NavigationChainError(.invalidPattern, "1 to \(maximumPatterns) patterns expected", handler: handler)
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
                ? "the pattern \(text) names a host itself; leave out `hosts`, or begin the pattern with a slash"
                : "the pattern \(text) is for any host; give `hosts`, or begin the pattern with scheme and host"
            throw NavigationChainError(.invalidPattern, detail, handler: handler)
        }
        return pattern
    }
}
