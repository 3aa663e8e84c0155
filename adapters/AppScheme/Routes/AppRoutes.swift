public import SignalboxCore
import SignalboxRoutes

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
