public import SignalboxCore
public import SignalboxRoutes

/// Maps links to actions.
///
/// Routes are compiled once, when you create the value, and any mistakes in them are reported at that point:
///
/// ```swift
/// let routes = try AppRoutes([
///     AppRoute(URLPattern("myapp://product/{number:int}"), action: "openProduct"),
///     AppRoute(URLPattern("myapp://invite/{token}"), action: "join", once: true),
/// ])
/// ```
///
/// The route that matches a link determines the action:
/// - The action is named by the route or by the capture `{action}`.
/// - The capture `{id}` is the id. Without this capture, the id is derived from the link if the route sets
///   ``AppRoute/once``, and is newly assigned otherwise.
/// - The other captures and the query items become members of the body, which is `{}` if it has no members.
///
/// If the pattern has a query part, only the query items listed there become members, under the names given there. A
/// capture in the host or path takes precedence over a query item with the same name. Like all text in URLs, member
/// values are converted to the requested type when the body is decoded.
///
/// Schemes and hosts are compared without regard to letter case. Path segments are compared after one round of
/// percent-decoding. If several patterns match, the most specific one wins, as described in `RouteTable`.
public struct AppRoutes: Sendable {
    /// The maximum number of routes: 10,000.
    public static let maximumRoutes = 10_000
    /// The maximum number of query items that can become members when the pattern does not list any: 64. Repeated items
    /// count each.
    public static let maximumItems = 64
    /// The maximum length of the name of a query item that the pattern does not list: 256 bytes.
    public static let maximumItemName = 256
    /// The schemes whose links are never routed, because opening such a link can run code, read a file, show content
    /// taken from the link itself, or start another application.
    public static let forbiddenSchemes: Set<String> = [
        "about", "blob", "content", "data", "file", "filesystem", "intent", "jar", "javascript", "vbscript",
        "view-source",
    ]

    /// The action for links that match no route, but have the same scheme as a route and, in the case of a universal
    /// link, the same host.
    ///
    /// The body of the action is `{"url": text}`, where `text` is the link in normal form. If this property is `nil`,
    /// such links are rejected.
    public let fallback: ActionName?
    /// The routes in their original order.
    package let routes: [AppRoute]
    private let table: RouteTable<AppRoute>
    /// The schemes used by the routes and, for universal links, the hosts.
    package let targets: Set<LinkFacts>
    /// Whether any route sets ``AppRoute/once``.
    let hasOnce: Bool

    /// Compiles routes, whose order does not matter.
    ///
    /// - Parameters:
    ///   - routes: 1 to ``maximumRoutes`` routes.
    ///   - fallback: The action for links that match no route, as described in ``fallback``. By default, such links are
    ///     rejected.
    /// - Throws: ``AppSchemeError`` if a route is invalid, or if two routes match the same links.
    public init(_ routes: [AppRoute], fallback: ActionName? = nil) throws(AppSchemeError) {
        guard (1...AppRoutes.maximumRoutes).contains(routes.count) else {
            let detail = "a source of links must have 1 to \(AppRoutes.maximumRoutes) routes, not \(routes.count)"
            throw AppSchemeError(.routeCount, detail)
        }
        for route in routes { try route.validate() }
        do throws(RoutePatternError) {
            table = try RouteTable(routes.map { ($0.pattern, $0) })
        } catch {
            throw AppSchemeError(.ambiguousRoutes, "routes of links: \(error.detail)")
        }
        targets = Set(routes.compactMap(\.facts))
        hasOnce = routes.contains(where: \.once)
        self.routes = routes
        self.fallback = fallback
    }

    /// Returns the action that a link would become. This method delivers and records nothing, so you can use it to test
    /// or explain routes.
    ///
    /// The result does not tell you whether a plugin is registered for the action, or whether the plugin's access rule
    /// permits the link.
    public func match(_ link: String) -> LinkMatch {
        let url: URLText
        do throws(URLTextError) {
            url = try URLText(link)
        } catch {
            return LinkMatch(facts: .unreadable, reading: .failure(.unreadableLink(error)))
        }
        let facts = LinkFacts(url)
        if let found = table.match(url) {
            return LinkMatch(
                facts: facts,
                pattern: found.pattern,
                reading: found.reading(of: url),
                unreadableItems: (try? url.readableQueryItems().unreadable) ?? 0
            )
        }
        guard let fallback, targets.contains(facts) else {
            return LinkMatch(facts: facts, reading: .failure(.noRoute(for: url, nearest: table.nearest(to: url))))
        }
        let text = RouteNaming.Capture(name: "url", value: url.text)
        return LinkMatch(facts: facts, reading: .success(LinkAction(name: fallback, captures: [text])))
    }
}

extension AppRoutes: Hashable {
    /// Returns whether both values have the same fallback and the same routes in the same order.
    public static func == (left: AppRoutes, right: AppRoutes) -> Bool {
        left.routes == right.routes && left.fallback == right.fallback
    }

    /// Hashes the routes and the fallback.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(routes)
        hasher.combine(fallback)
    }
}

/// A URL pattern and the action for links that match it.
public struct AppRoute: Sendable, Hashable {
    /// The pattern that a link must match, including captures. The capture `{action}` names the action, `{id}` is the
    /// id, and all other captures become members of the body.
    ///
    /// If the pattern has a query part, such as `?q={term}`, only the query items listed there become members of the
    /// body. Otherwise, all query items do.
    public var pattern: URLPattern
    /// The action for all links that match this route. The default is `nil`, which requires a capture `{action}` that
    /// names the action.
    public var action: ActionName?
    /// Whether each link is handled only once. The default is `false`.
    ///
    /// Use `true` for links that may take effect only once, such as invitations. The id is derived from the link, so a
    /// link that is opened again has the same id, and the supervisor recognizes the duplicate.
    ///
    /// If a source has such a route, the supervisor deduplicates all links from that source. An `{id}` in any of the
    /// source's other routes must then identify a single link as well. Otherwise, use a separate source for those other
    /// routes.
    ///
    /// The id is `link-` followed by a SHA-256 digest in hexadecimal, so it does not reveal the secret in a one-time
    /// link. The digest covers everything that the route reads:
    /// - The scheme, host and port.
    /// - The decoded path segments.
    /// - The values of captures and members.
    ///
    /// The digest ignores the fragment, the order of query items, and any query items that the pattern's query part
    /// does not list. It also ignores the letter case of the scheme and of a literal host, and a trailing `/` or `?`.
    public var once: Bool

    /// Creates a route. The route is validated when you pass it to ``AppRoutes``.
    public init(_ pattern: URLPattern, action: ActionName? = nil, once: Bool = false) {
        self.pattern = pattern
        self.action = action
        self.once = once
    }

    func validate() throws(AppSchemeError) {
        let shown = "route \(pattern.text.debugDescription)"
        guard let scheme = pattern.scheme else {
            let detail = "\(shown) matches links of every scheme; begin it with a scheme"
            throw AppSchemeError(.missingScheme, detail)
        }
        if AppRoutes.forbiddenSchemes.contains(scheme) {
            let detail =
                "\(shown): links of \(scheme) can run code or read files when opened; they are never routed"
            throw AppSchemeError(.forbiddenScheme, detail)
        }
        let names = pattern.captureNames
        switch (action, names.contains("action")) {
        case (nil, false):
            throw AppSchemeError(.missingAction, "\(shown) names no action; use {action} or a fixed action")
        case (.some, true):
            let detail = "\(shown): use {action} or a fixed action, not both"
            throw AppSchemeError(.conflictingAction, detail)
        default: break
        }
        if once && names.contains("id") {
            let detail = "\(shown): use {id} or the whole link (once), not both"
            throw AppSchemeError(.conflictingID, detail)
        }
    }

    /// The pattern's scheme and, for a universal link, its host.
    package var facts: LinkFacts? {
        guard let scheme = pattern.scheme else { return nil }
        guard LinkFacts.isUniversal(scheme: scheme) else { return LinkFacts(scheme: scheme, universalHost: nil) }
        // Such a pattern has a literal host, because captures are not allowed there.
        let start = scheme.utf8.count + "://".utf8.count
        let authority = pattern.text.utf8.dropFirst(start).prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
        return (try? URLText("\(scheme)://\(Substring(authority))")).map { LinkFacts($0) }
    }
}

/// An error in the configuration of link routes, which is thrown when the routes are compiled, before any link arrives.
public struct AppSchemeError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of error. Later versions may add more, so handle unknown codes as well.
    public struct Code: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
        /// The name used in logs, such as `missingScheme`.
        public let rawValue: String

        /// Creates a code from its name.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// There are no routes, or more than ``AppRoutes/maximumRoutes``.
        public static let routeCount = Code(rawValue: "routeCount")
        /// A pattern begins with a slash, so it would match links of every scheme.
        public static let missingScheme = Code(rawValue: "missingScheme")
        /// The scheme of a pattern is one of ``AppRoutes/forbiddenSchemes``.
        public static let forbiddenScheme = Code(rawValue: "forbiddenScheme")
        /// Neither the route nor a capture `{action}` names the action.
        public static let missingAction = Code(rawValue: "missingAction")
        /// Both the route and a capture `{action}` name the action.
        public static let conflictingAction = Code(rawValue: "conflictingAction")
        /// Both a capture `{id}` and ``AppRoute/once`` specify the id.
        public static let conflictingID = Code(rawValue: "conflictingID")
        /// Two patterns match the same links, and neither is more specific than the other.
        public static let ambiguousRoutes = Code(rawValue: "ambiguousRoutes")

        /// The name.
        public var description: String { rawValue }
    }

    /// The kind of error.
    public let code: Code
    /// A description of the error and of how to fix it.
    public let detail: String

    init(_ code: Code, _ detail: String) {
        self.code = code
        self.detail = detail
    }

    /// The detail, followed by the code, such as `[AppSchemeError.missingScheme]`.
    public var description: String { coded(detail) }
}

extension AppSchemeError: CodedError {
    /// The name of ``code``.
    package var codeName: String { code.rawValue }
}
