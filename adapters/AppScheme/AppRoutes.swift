public import SignalboxCore
public import SignalboxRoutes

/// The mapping from links to actions, compiled once.
///
/// A link becomes an action through its route:
/// - The action is the route's own, or the value of `{action}`. The id is the value of `{id}`; without one it is
///   assigned, or derived from the link if the route sets ``AppRoute/once``.
/// - Other captures become members of the body, and so do query items. If the pattern has a query part, only the items
///   that it lists become members, under the names it gives them. A host or path capture takes precedence over an item
///   of the same name. Member values convert from text like all URL text. Without members the body is `{}`.
///
/// Scheme and host are compared case-insensitively, path segments after one round of percent-decoding. If several
/// patterns match, the most specific one decides: see `RouteTable`.
public struct AppRoutes: Sendable {
    /// The maximum number of routes: 10,000.
    public static let maximumRoutes = 10_000
    /// The maximum number of query items that become members if the pattern lists none: 64.
    public static let maximumItems = 64
    /// The maximum length of such an item's name: 256 bytes.
    public static let maximumItemName = 256
    /// Schemes whose links are never routed. Opening such a link runs code, reads a file, shows content from the link
    /// itself, or starts another application.
    public static let forbiddenSchemes: Set<String> = [
        "about", "blob", "content", "data", "file", "filesystem", "intent", "jar", "javascript", "vbscript",
        "view-source",
    ]

    /// The action for links that match no route although their scheme, or the host of a universal link, occurs in one;
    /// `nil` for none. Its body is `{"url": text}` with the link in normal form.
    public let fallback: ActionName?
    /// The routes, as given.
    package let routes: [AppRoute]
    private let table: RouteTable<AppRoute>
    /// The schemes of the routes, and the hosts of universal links.
    package let targets: Set<LinkFacts>
    /// Whether any route sets ``AppRoute/once``.
    let hasOnce: Bool

    /// Compiles routes. Their order has no effect.
    ///
    /// - Parameters:
    ///   - routes: 1 to ``maximumRoutes`` routes.
    ///   - fallback: The action for unmatched links (see ``fallback``); none by default.
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

    /// Returns the action that a link would become, without delivering or recording anything.
    ///
    /// Does not check whether a plugin is registered for the action or whether its access rule permits the link.
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
    /// Returns whether both have the same routes in the same order, and the same fallback.
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
    /// The pattern, with captures. `{action}` names the action, `{id}` is the id, and other captures become body
    /// members.
    ///
    /// With a query part, such as `?q={term}`, only the listed items become members; without one, all items do.
    public var pattern: URLPattern
    /// The action for every link of this route, or `nil` (default) if `{action}` names it.
    public var action: ActionName?
    /// Whether a link of this route is handled only once; `false` by default. Its id is derived from the link, so a
    /// link that is opened again has the same id and is deduplicated by source and id.
    ///
    /// A supervisor deduplicates every link source that has such a route. The `{id}` of its other routes must then
    /// identify a single link as well; otherwise, give these routes a separate source.
    ///
    /// The id is `link-` and a SHA-256 in hexadecimal digits, so it does not reveal the secret in a one-time link. It
    /// covers everything that the route reads: scheme, host and port, the decoded path segments, and the values of
    /// captures and members. It ignores the fragment, query items that a query part does not list, and the order of
    /// items. It also ignores the letter case of the scheme and of a literal host, and a trailing `/` or `?`.
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

    /// The pattern's scheme, and for a universal link its host.
    package var facts: LinkFacts? {
        guard let scheme = pattern.scheme else { return nil }
        guard LinkFacts.isUniversal(scheme: scheme) else { return LinkFacts(scheme: scheme, universalHost: nil) }
        // Such a pattern has a literal host: captures are not allowed there.
        let start = scheme.utf8.count + "://".utf8.count
        let authority = pattern.text.utf8.dropFirst(start).prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
        return (try? URLText("\(scheme)://\(Substring(authority))")).map { LinkFacts($0) }
    }
}

/// An error in the configuration of link routes, thrown before any link arrives.
public struct AppSchemeError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of error; more may be added.
    public struct Code: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
        /// The name used in logs, such as `missingScheme`.
        public let rawValue: String

        /// Creates a code by its name.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// There are no routes, or more than ``AppRoutes/maximumRoutes``.
        public static let routeCount = Code(rawValue: "routeCount")
        /// A pattern begins with a slash and would match links of every scheme.
        public static let missingScheme = Code(rawValue: "missingScheme")
        /// The pattern's scheme runs code or reads files when opened: see ``AppRoutes/forbiddenSchemes``.
        public static let forbiddenScheme = Code(rawValue: "forbiddenScheme")
        /// Neither the route nor a capture `{action}` names the action.
        public static let missingAction = Code(rawValue: "missingAction")
        /// Both the route and a capture `{action}` name the action.
        public static let conflictingAction = Code(rawValue: "conflictingAction")
        /// The id is specified twice: by a capture `{id}` and by ``AppRoute/once``.
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
