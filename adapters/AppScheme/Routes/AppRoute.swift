public import SignalboxCore
public import SignalboxRoutes

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
