import AdapterSupport
public import SignalboxCore
public import SignalboxRoutes

/// The result of matching a link against the routes with ``AppRoutes/match(_:)``.
public struct LinkMatch: Sendable, Hashable {
    /// The facts of the link, for access rules.
    public let facts: LinkFacts
    /// The pattern of the matching route, if there is one.
    public let pattern: URLPattern?
    /// The link's action, or the reason why the link is rejected. The rejection is `malformed` if the link is unusable,
    /// and `unknownAction` if no route matches and there is no fallback.
    public let reading: Result<LinkAction, Outcome.Rejection>
    /// The number of query items that cannot be read. Unless the route names one of them, the body lacks them and the
    /// link still has an action.
    public let unreadableItems: Int

    init(
        facts: LinkFacts,
        pattern: URLPattern? = nil,
        reading: Result<LinkAction, Outcome.Rejection>,
        unreadableItems: Int = 0
    ) {
        self.facts = facts
        self.pattern = pattern
        self.unreadableItems = unreadableItems
        self.reading = reading
    }
}

/// The action that a link stands for.
public struct LinkAction: Sendable, Hashable {
    /// The action's name, which determines the plugin that handles the action.
    public let name: ActionName
    /// The id contained in the link, or derived from it for a one-time link. If this property is `nil`, an id will be
    /// assigned.
    public let id: ActionID?
    /// The members of the body, with unique names: the captures in the host and path from left to right, followed by
    /// the query items. If there are no members, the body is an empty object.
    public let captures: [RouteNaming.Capture]

    init(name: ActionName, id: ActionID? = nil, captures: [RouteNaming.Capture]) {
        self.name = name
        self.id = id
        self.captures = captures
    }
}

extension RouteMatch<AppRoute> {
    /// Returns the action for a link that this route matches, or the reason why the link is rejected.
    func reading(of url: URLText) -> Result<LinkAction, Outcome.Rejection> {
        Result { () throws(Outcome.Rejection) in try action(of: url) }
    }

    private func action(of url: URLText) throws(Outcome.Rejection) -> LinkAction {
        let named = try (Array(captures) + namedItems(of: url)).map {
            RouteNaming.Capture(name: $0.name, value: $0.value)
        }
        let naming = try RouteNaming(named, action: value.action, of: "link")
        guard let action = naming.action else { throw .malformed("the link's query has no item for the action") }
        let items = pattern.queryCaptures.isEmpty ? try items(of: url) : []
        let id = value.once ? LinkIdentity(url, members: named + items).id : naming.id
        return LinkAction(name: action, id: id, captures: naming.captures + items)
    }

    /// Returns the query items that the pattern's query part lists.
    private func namedItems(of url: URLText) throws(Outcome.Rejection) -> RouteCaptures {
        do throws(URLTextError) {
            return try pattern.queryValues(of: url)
        } catch {
            throw .unreadableQuery(error)
        }
    }

    /// Returns all query items except those with the same name as a capture.
    private func items(of url: URLText) throws(Outcome.Rejection) -> [RouteNaming.Capture] {
        let query: ReadableQuery
        do throws(URLTextError) {
            query = try url.readableQuery()
        } catch {
            throw .unreadableQuery(error)
        }
        let captured = Set(captures.map(\.name))
        var names: [String] = []
        var values: [String: [String]] = [:]
        var count = 0
        for item in query.items where !captured.contains(item.name) {
            if values[item.name] == nil { names.append(item.name) }
            count += 1
            guard count <= AppRoutes.maximumItems else {
                throw .malformed("the link's query has more than \(AppRoutes.maximumItems) items")
            }
            guard item.name.utf8.count <= AppRoutes.maximumItemName else {
                throw .malformed("a name in the link's query has more than \(AppRoutes.maximumItemName) bytes")
            }
            values[item.name, default: []].append(item.value)
        }
        return names.compactMap { name in
            guard let texts = values[name], let first = texts.first else { return nil }
            // An item whose other value cannot be read is repeated, too: the readable value alone must not decide.
            let isList = texts.count > 1 || query.namesOfUnreadable.contains(name)
            return RouteNaming.Capture(name: name, value: first, moreValues: Array(texts.dropFirst()), isList: isList)
        }
    }
}

/// Rejections of links. Because rejections are logged and a link may contain a secret, a rejection includes only the
/// link's scheme and host, and the reason why a name in the link is invalid.
extension Outcome.Rejection {
    /// The maximum number of bytes of a scheme or host that a rejection shows.
    private static let shownBytes = 64

    static func malformed(_ detail: String) -> Outcome.Rejection {
        Outcome.Rejection(.malformed, detail: detail)
    }

    /// The rejection for a link that is not a URL.
    package static func unreadableLink(_ error: URLTextError) -> Outcome.Rejection {
        malformed("the link cannot be read: \(error)")
    }

    static func unreadableQuery(_ error: URLTextError) -> Outcome.Rejection {
        malformed("the link's query cannot be read: \(error)")
    }

    static func noRoute(for url: URLText, nearest: URLPattern?) -> Outcome.Rejection {
        let host = url.host.map { "host \(shown($0).debugDescription)" } ?? "no host"
        let name = url.userInfo == nil ? "" : " with a user name, which no route reads"
        let route = nearest.map { "; the nearest route is \($0.text.debugDescription)" } ?? ""
        let detail = "no route matches this link of scheme \(shown(url.scheme)) and \(host)\(name)\(route)"
        return Outcome.Rejection(.unknownAction, detail: detail)
    }

    private static func shown(_ text: String) -> String {
        text.utf8.count <= shownBytes ? text : String(decoding: text.utf8.prefix(shownBytes), as: UTF8.self) + "..."
    }
}
