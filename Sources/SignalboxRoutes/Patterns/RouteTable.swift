/// A compiled table of routes that finds the most specific pattern for a URL.
///
/// The first difference from left to right decides which pattern is more specific:
/// - a pattern with a scheme precedes a path pattern such as `/product/{id}`;
/// - a literal precedes `{name:int}` and `{name:uuid}`, these precede `{name}`, and that precedes `{name...}`;
/// - a pattern that ends precedes one whose rest is empty.
///
/// A table rejects two patterns that these rules do not order. Both match the same URLs. The routes' order is ignored.
///
/// The cost of a lookup depends on the URL's length and the candidate paths through the patterns, not on the number of
/// other routes. A node that patterns share is visited once. A segment is read at most once as text and once per kind.
public struct RouteTable<Value: Sendable>: Sendable {
    private let routes: [(pattern: URLPattern, value: Value)]
    private let trie: RouteTrie

    /// Compiles the routes.
    ///
    /// - Throws: ``RoutePatternError`` with the reason ``RoutePatternError/Reason/ambiguous`` and both patterns. Two
    ///   patterns conflict if they differ only in capture names, the case of scheme or host, a trailing slash or query.
    public init(_ routes: [(pattern: URLPattern, value: Value)]) throws(RoutePatternError) {
        var trie = RouteTrie()
        for (number, route) in routes.enumerated() {
            guard let other = trie.insert(route.pattern, route: UInt32(number)) else { continue }
            throw RoutePatternError.ambiguous(route.pattern, routes[Int(other)].pattern)
        }
        self.routes = routes
        self.trie = trie
    }

    /// The number of routes.
    public var count: Int { routes.count }

    /// Returns the most specific route for a URL, or `nil` when no pattern matches. Query and fragment are ignored.
    public func match(_ url: URLText) -> RouteMatch<Value>? {
        let (number, walk) = search(url)
        guard let number else { return nil }
        let (pattern, value) = routes[number]
        return RouteMatch(pattern: pattern, value: value, captures: pattern.captures(in: walk.pieces))
    }

    /// Returns the number of the route for a URL, and the walk that found it.
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

/// The result of a lookup in a ``RouteTable``.
public struct RouteMatch<Value: Sendable>: Sendable {
    /// The most specific matching pattern.
    public let pattern: URLPattern
    /// The table's value for the pattern.
    public let value: Value
    /// The captures in the URL's host and path. For the query, call ``URLPattern/queryValues(of:)``.
    public let captures: RouteCaptures
}
