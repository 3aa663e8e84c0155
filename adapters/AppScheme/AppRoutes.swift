public import SignalboxCore
public import SignalboxRoutes

/// What becomes of links: which action each is, if any. Compiled once.
///
/// A link becomes an action by its route:
/// - the action is the route's, or what `{action}` stands for; the id is what `{id}` stands for, else it is assigned,
///   or made from the link where the route says ``AppRoute/once``;
/// - other captures are members of the body, and so are items of the query: those that the pattern's query part names,
///   under the names it gives them, or all of them where it has none. A capture of host or path wins over an item of
///   the same name. Members convert from text as all text of URLs does. Without any the body is `{}`.
///
/// Scheme and host are compared without letter case, and all that stands between slashes after it was decoded once; of
/// several patterns that match, the most specific decides: see `RouteTable`.
public struct AppRoutes: Sendable {
    /// The most routes: 10,000.
    public static let maximumRoutes = 10_000
    /// The most items of one link's query that become members, where the pattern names none: 64.
    public static let maximumItems = 64
    /// The most bytes of such an item's name: 256.
    public static let maximumItemName = 256
    /// Schemes of which no link is ever routed: where one is opened it runs code, reads a file, shows what the link
    /// says, or starts what it names.
    public static let forbiddenSchemes: Set<String> = [
        "about", "blob", "content", "data", "file", "filesystem", "intent", "jar", "javascript", "vbscript",
        "view-source",
    ]

    /// The action of links that no route matches, although their scheme, or the host of a universal link, is one of the
    /// routes'; `nil` for none. Its body is `{"url": text}` with the link in normal form.
    public let fallback: ActionName?
    private let table: RouteTable<AppRoute>
    private let known: Set<LinkFacts>
    /// Whether a link of some route counts once.
    let hasOnce: Bool

    /// Compiles routes; their order says nothing.
    ///
    /// - Parameters:
    ///   - routes: 1 to ``maximumRoutes``.
    ///   - fallback: see ``fallback``; none by default.
    /// - Throws: ``AppSchemeError``: what cannot be meant, such as two routes for the same links.
    public init(_ routes: [AppRoute], fallback: ActionName? = nil) throws(AppSchemeError) {
        guard (1...AppRoutes.maximumRoutes).contains(routes.count) else {
            let detail = "a source of links has 1 to \(AppRoutes.maximumRoutes) routes, not \(routes.count)"
            throw AppSchemeError(.routeCount, detail)
        }
        for route in routes { try route.validate() }
        do throws(RoutePatternError) {
            table = try RouteTable(routes.map { ($0.pattern, $0) })
        } catch {
            throw AppSchemeError(.ambiguousRoutes, "routes of links: \(error.detail)")
        }
        known = Set(routes.compactMap(\.facts))
        hasOnce = routes.contains(where: \.once)
        self.fallback = fallback
    }

    /// Says what a link would become. A question and nothing else: nothing is delivered or recorded.
    ///
    /// Whether a plugin is registered for the action, and its access rule allows the link, is not asked.
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
        guard let fallback, known.contains(facts) else {
            return LinkMatch(facts: facts, reading: .failure(.noRoute(for: url)))
        }
        let text = RouteNaming.Capture(name: "url", value: url.text)
        return LinkMatch(facts: facts, reading: .success(LinkAction(name: fallback, captures: [text])))
    }
}

/// What becomes of the links that a pattern matches.
public struct AppRoute: Sendable, Hashable {
    /// The links, with captures. `{action}` names the action and `{id}` is the id; other captures are members of the
    /// body.
    ///
    /// With a query part, such as `?q={term}`, only the items named there are members; without one all items are.
    public var pattern: URLPattern
    /// The action of every link of this route, or `nil` (default): then `{action}` names it.
    public var action: ActionName?
    /// Whether a link of this route counts once: its id is made from the link, so that a link that is opened again,
    /// however often, has the same id and is a repeat to whoever recognises repeats by source and id. A supervisor does so
    /// for every source of links with such a route; the `{id}` of its other routes must then stand for one link too, or
    /// these routes be a source of their own. `false` by default.
    ///
    /// The id is `link-` and a SHA-256 in hexadecimal digits: it does not tell the secret that a one-time link holds.
    /// What the route looks at goes into it: scheme, host and port, the decoded segments of the path, and what stands
    /// for captures and members. What does not makes no other id: the fragment, items of the query that the pattern
    /// does not name where it names some, the order of items, the letter case of scheme and host, a slash or question
    /// mark at the end.
    public var once: Bool

    /// A route. ``AppRoutes`` checks it.
    public init(_ pattern: URLPattern, action: ActionName? = nil, once: Bool = false) {
        self.pattern = pattern
        self.action = action
        self.once = once
    }

    func validate() throws(AppSchemeError) {
        let shown = "route \(pattern.text.debugDescription)"
        guard let scheme = pattern.scheme else {
            let detail = "\(shown) is for links of every scheme; begin it with the scheme that is meant"
            throw AppSchemeError(.missingScheme, detail)
        }
        if AppRoutes.forbiddenSchemes.contains(scheme) {
            let detail =
                "\(shown): links of \(scheme) run code or read files where they are opened; they are never routed"
            throw AppSchemeError(.forbiddenScheme, detail)
        }
        let names = pattern.captureNames
        switch (action, names.contains("action")) {
        case (nil, false):
            throw AppSchemeError(.missingAction, "\(shown) names no action; use {action} or a fixed action")
        case (.some, true):
            let detail = "\(shown): its action comes from {action} or is fixed, not both"
            throw AppSchemeError(.conflictingAction, detail)
        default: break
        }
        if once && names.contains("id") {
            let detail = "\(shown): its id comes from {id} or from the whole link (once), not both"
            throw AppSchemeError(.conflictingID, detail)
        }
    }

    /// The pattern's scheme, and its host where that vouches for the link.
    var facts: LinkFacts? {
        guard let scheme = pattern.scheme else { return nil }
        guard LinkFacts.isUniversal(scheme: scheme) else { return LinkFacts(scheme: scheme, universalHost: nil) }
        // Such a pattern has its host written out: no capture stands there.
        let start = scheme.utf8.count + "://".utf8.count
        let authority = pattern.text.utf8.dropFirst(start).prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
        return (try? URLText("\(scheme)://\(Substring(authority))")).map { LinkFacts($0) }
    }
}

/// Why routes for links cannot be used. Found when they are made, before any link comes.
public struct AppSchemeError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of error; more may be added.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Word: String {
            case routeCount, missingScheme, forbiddenScheme, missingAction, conflictingAction, conflictingID,
                ambiguousRoutes
        }
        private let word: Word

        /// There are no routes, or more than ``AppRoutes/maximumRoutes``.
        public static let routeCount = Code(word: .routeCount)
        /// A pattern that begins with a slash: it would match links of every scheme.
        public static let missingScheme = Code(word: .missingScheme)
        /// A pattern of a scheme that runs code or reads files where it is opened: see ``AppRoutes/forbiddenSchemes``.
        public static let forbiddenScheme = Code(word: .forbiddenScheme)
        /// Nothing names the action: neither the route nor a capture `{action}`.
        public static let missingAction = Code(word: .missingAction)
        /// The action is named twice: by the route and by a capture `{action}`.
        public static let conflictingAction = Code(word: .conflictingAction)
        /// The id is given twice: by a capture `{id}` and because the route is for one-time links.
        public static let conflictingID = Code(word: .conflictingID)
        /// Two patterns match the same links, and neither is the more specific.
        public static let ambiguousRoutes = Code(word: .ambiguousRoutes)

        /// The word used in logs, such as `missingScheme`.
        public var description: String { word.rawValue }
    }

    /// What kind of error this is.
    public let code: Code
    /// What is wrong and what to do about it, in a sentence.
    public let detail: String

    init(_ code: Code, _ detail: String) {
        self.code = code
        self.detail = detail
    }

    /// The detail.
    public var description: String { detail }
}
