/// Routes by pattern, compiled once: finds the most specific pattern that matches a URL.
///
/// Which is more specific is decided from left to right, by the first difference:
/// - a pattern with a scheme comes before a path pattern such as `/product/{id}`;
/// - a literal before `{name:int}` and `{name:uuid}`, these before `{name}`, and that before `{name...}`;
/// - a pattern that ends before one whose rest takes nothing.
///
/// Two patterns that this does not order match the same URLs, and a table does not take both. The order of the routes
/// says nothing.
///
/// A lookup costs what the URL's length and the ways through the patterns cost, however many routes there are beside
/// them: no place that patterns share is visited twice, and a segment is read once as text, once as a number and once as
/// a UUID, whoever asks.
public struct RouteTable<Value: Sendable>: Sendable {
    private let routes: [(pattern: URLPattern, value: Value)]
    private let trie: RouteTrie

    /// Compiles the routes.
    ///
    /// - Throws: ``RoutePatternError`` with the reason ``RoutePatternError/Reason/ambiguous``, which names both patterns,
    ///   when two differ in nothing but the names of captures, the letter case of scheme or host, a slash at the end,
    ///   or the query part.
    public init(_ routes: [(pattern: URLPattern, value: Value)]) throws(RoutePatternError) {
        var trie = RouteTrie()
        for (number, route) in routes.enumerated() {
            guard let other = trie.insert(route.pattern, route: UInt32(number)) else { continue }
            throw RoutePatternError.ambiguous(route.pattern, routes[Int(other)].pattern)
        }
        self.routes = routes
        self.trie = trie
    }

    /// How many routes there are.
    public var count: Int { routes.count }

    /// The most specific route for a URL, or `nil` when no pattern matches. Query and fragment are not looked at.
    public func match(_ url: URLText) -> RouteMatch<Value>? {
        let (number, walk) = search(url)
        guard let number else { return nil }
        let (pattern, value) = routes[number]
        return RouteMatch(pattern: pattern, value: value, captures: pattern.captures(in: walk.pieces))
    }

    /// The number of the route for a URL, and how it was found.
    package func search(_ url: URLText) -> (route: Int?, walk: RouteWalk) {
        let root = RouteRoot(of: url)
        var walk = RouteWalk(trie, URLPieces(url))
        let found = walk.route(from: root)
        guard found == nil, RouteRoot.anywhere.covers(root) else { return (found, walk) }
        return (walk.route(from: .anywhere), walk)
    }
}

extension RoutePatternError {
    fileprivate static func ambiguous(_ pattern: URLPattern, _ other: URLPattern) -> RoutePatternError {
        let pair = "\(pattern.text.debugDescription) and \(other.text.debugDescription)"
        let detail = "\(pair) match the same URLs; keep one of them, or make one more specific"
        return RoutePatternError(.ambiguous, at: 0, detail, otherPattern: other.text)
    }
}

/// What a ``RouteTable`` found for a URL.
public struct RouteMatch<Value: Sendable>: Sendable {
    /// The most specific of the patterns that match.
    public let pattern: URLPattern
    /// What the table holds for it.
    public let value: Value
    /// What the pattern names in the URL's host and path; its query is asked for with
    /// ``URLPattern/queryValues(of:)``.
    public let captures: RouteCaptures

    init(pattern: URLPattern, value: Value, captures: RouteCaptures) {
        self.pattern = pattern
        self.value = value
        self.captures = captures
    }
}
