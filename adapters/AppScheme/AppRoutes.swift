public import SignalboxCore
public import SignalboxRoutes

/// The mapping from links to actions.
///
/// The routes are compiled once, when the value is created, which is also when mistakes in them are found:
///
/// ```swift
/// let routes = try AppRoutes([
///     AppRoute(URLPattern("myapp://product/{number:int}"), action: "openProduct"),
///     AppRoute(URLPattern("myapp://invite/{token}"), action: "join", once: true),
/// ])
/// ```
///
/// A link becomes an action through the route that matches it:
/// - The route names the action, or the capture `{action}` does.
/// - The capture `{id}` is the id. Without this capture, the id is derived from the link if the route sets
///   ``AppRoute/once``, and otherwise it is assigned.
/// - The other captures and the query items become members of the body. If the pattern has a query part, only the items
///   that it lists become members, under the names that it gives them. A capture of the host or path takes precedence
///   over an item with the same name. The values of members convert from text, as all text in URLs does. If there are
///   no members, the body is `{}`.
///
/// The scheme and the host are compared without regard to letter case, and path segments are compared after one round
/// of percent-decoding. If several patterns match, the most specific one decides, as `RouteTable` describes.
public struct AppRoutes: Sendable {
    /// The maximum number of routes: 10,000.
    public static let maximumRoutes = 10_000
    /// The maximum number of query items that can become members if the pattern lists none: 64.
    public static let maximumItems = 64
    /// The maximum length of such an item's name: 256 bytes.
    public static let maximumItemName = 256
    /// The schemes whose links are never routed. Where such a link is opened, it can run code, read a file, show
    /// content from the link itself, or start another application.
    public static let forbiddenSchemes: Set<String> = [
        "about", "blob", "content", "data", "file", "filesystem", "intent", "jar", "javascript", "vbscript",
        "view-source",
    ]

    /// The action for links that match no route, although a route has their scheme or, for a universal link, their
    /// host. `nil` if such links are rejected. The body of the action is `{"url": text}`, where the text is the link in
    /// normal form.
    public let fallback: ActionName?
    /// The routes in their original order.
    package let routes: [AppRoute]
    private let table: RouteTable<AppRoute>
    /// The schemes of the routes, and the hosts of universal links.
    package let targets: Set<LinkFacts>
    /// Whether any route sets ``AppRoute/once``.
    let hasOnce: Bool

    /// Compiles routes. The order of the routes has no effect.
    ///
    /// - Parameters:
    ///   - routes: 1 to ``maximumRoutes`` routes.
    ///   - fallback: The action for links that match no route, as ``fallback`` describes. By default, such links are
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

    /// Returns the action that a link would become. This method delivers and records nothing, so use it to test or
    /// explain routes.
    ///
    /// The result does not say whether a plugin is registered for the action, or whether the access rule of that plugin
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
            return LinkMatch(facts: facts, pattern: found.pattern, reading: found.reading(of: url))
        }
        guard let fallback, targets.contains(facts) else {
            return LinkMatch(facts: facts, reading: .failure(.noRoute(for: url)))
        }
        let text = RouteNaming.Capture(name: "url", value: url.text)
        return LinkMatch(facts: facts, reading: .success(LinkAction(name: fallback, captures: [text])))
    }
}

extension AppRoutes: Hashable {
    /// Returns whether two values have the same routes in the same order, and the same fallback.
    public static func == (left: AppRoutes, right: AppRoutes) -> Bool {
        left.routes == right.routes && left.fallback == right.fallback
    }

    /// Hashes the routes and the fallback.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(routes)
        hasher.combine(fallback)
    }
}

/// A pattern, and the action for the links that it matches.
public struct AppRoute: Sendable, Hashable {
    /// The pattern, with captures. The capture `{action}` names the action, `{id}` is the id, and the others become
    /// members of the body.
    ///
    /// If the pattern has a query part, such as `?q={term}`, only the items that it lists become members of the body.
    /// Otherwise, all items do.
    public var pattern: URLPattern
    /// The action for every link of this route. It is `nil` by default, which requires that `{action}` names the
    /// action.
    public var action: ActionName?
    /// Whether a link of this route is handled only once. The default is `false`.
    ///
    /// Use `true` for links that must have an effect only once, such as an invitation. The id is derived from the link,
    /// so a link that is opened again has the same id, and the supervisor recognizes it as a duplicate.
    ///
    /// A supervisor deduplicates all links of a source that has such a route. The `{id}` of the other routes must then
    /// identify a single link as well. If it does not, give those routes a separate source.
    ///
    /// The id is `link-` followed by a SHA-256 in hexadecimal digits, so it does not reveal the secret in a one-time
    /// link. The digest covers everything that the route reads: the scheme, host and port, the decoded path segments,
    /// and the values of captures and members. It ignores the fragment, the order of query items, and items that the
    /// query part of the pattern does not list. It also ignores the letter case of the scheme and of a literal host,
    /// and a trailing `/` or `?`.
    public var once: Bool

    /// Creates a route. ``AppRoutes`` validates it.
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

    /// The scheme of the pattern and, for a universal link, the host.
    package var facts: LinkFacts? {
        guard let scheme = pattern.scheme else { return nil }
        guard LinkFacts.isUniversal(scheme: scheme) else { return LinkFacts(scheme: scheme, universalHost: nil) }
        // Such a pattern has a literal host, because captures are not allowed there.
        let start = scheme.utf8.count + "://".utf8.count
        let authority = pattern.text.utf8.dropFirst(start).prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
        return (try? URLText("\(scheme)://\(Substring(authority))")).map { LinkFacts($0) }
    }
}

/// An error in the configuration of link routes. It is thrown when the routes are compiled, so before any link arrives.
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
        /// The id is specified twice, by a capture `{id}` and by ``AppRoute/once``.
        public static let conflictingID = Code(rawValue: "conflictingID")
        /// Two patterns match the same links, and neither is more specific.
        public static let ambiguousRoutes = Code(rawValue: "ambiguousRoutes")

        /// The name.
        public var description: String { rawValue }
    }

    /// The kind of error.
    public let code: Code
    /// A sentence that states the error and how to fix it.
    public let detail: String

    init(_ code: Code, _ detail: String) {
        self.code = code
        self.detail = detail
    }

    /// The detail.
    public var description: String { detail }
}
