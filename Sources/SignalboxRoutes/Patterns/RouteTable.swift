/// A compiled table of routes, which finds the most specific pattern that matches a URL.
///
/// Use a table to determine which part of a program a link opens:
///
/// ```swift
/// let routes = try RouteTable([
///     (pattern: URLPattern("myapp://product/{id:int}"), value: "product"),
///     (pattern: URLPattern("myapp://{rest...}"), value: "start"),
/// ])
/// let match = routes.match(try URLText("myapp://product/42"))
/// print(match?.value ?? "")  // product
/// ```
///
/// The order in which you list the routes does not matter. Patterns are compared from left to right, and the first
/// difference decides which one is more specific:
/// - A pattern with a scheme precedes a path pattern such as `/product/{id}`.
/// - A literal precedes `{name:int}` and `{name:uuid}`, which precede `{name}`, which precedes `{name...}`.
/// - A pattern that ends precedes a pattern whose rest is empty.
///
/// If these rules do not order two patterns, both patterns match the same URLs, and the table rejects them.
///
/// The cost of a lookup depends on the URL's length and on the candidate paths through the patterns, but not on the
/// number of other routes. A node that several patterns share is visited once, and a segment is read at most once as
/// text and once for each kind.
public struct RouteTable<Value: Sendable>: Sendable {
    private let routes: [(pattern: URLPattern, value: Value)]
    private let trie: RouteTrie

    /// Compiles the routes.
    ///
    /// Two patterns conflict if they differ only in capture names, the case of the scheme or host, a trailing slash or
    /// the query.
    ///
    /// - Throws: ``RoutePatternError`` with the reason ``RoutePatternError/Reason/ambiguous``, which identifies both
    ///   conflicting patterns.
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

    /// Returns the most specific route for a URL, or `nil` if no pattern matches. The query and the fragment are
    /// ignored.
    public func match(_ url: URLText) -> RouteMatch<Value>? {
        let (number, walk) = search(url)
        guard let number else { return nil }
        let (pattern, value) = routes[number]
        return RouteMatch(pattern: pattern, value: value, captures: pattern.captures(in: walk.pieces))
    }

    /// Returns the first patterns, at most `count`.
    func patterns(_ count: Int) -> [URLPattern] { routes.prefix(count).map(\.pattern) }

    /// Returns whether a pattern names the URL's scheme, host and port, whatever its path is.
    package func hasPattern(forHostOf url: URLText) -> Bool {
        let (root, host) = (RouteRoot(of: url), URLPieces(url).host)
        return routes.contains { route in
            let pattern = route.pattern
            if pattern.root.form == .anywhere { return true }
            guard pattern.root == root else { return false }
            guard case .literal(let text)? = pattern.elements.first else { return true }
            return text == host
        }
    }

    /// Returns the number of the route for a URL, together with the walk that searched for the route.
    package func search(_ url: URLText) -> (route: Int?, walk: RouteWalk) {
        let root = RouteRoot(of: url)
        var walk = RouteWalk(trie, URLPieces(url))
        guard url.isRoutable else { return (nil, walk) }
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

/// The route that a lookup in a ``RouteTable`` found.
public struct RouteMatch<Value: Sendable>: Sendable {
    /// The most specific pattern that matches the URL.
    public let pattern: URLPattern
    /// The value that the table stores for the pattern.
    public let value: Value
    /// The captures in the URL's host and path. To get the captures in the query, call ``URLPattern/queryValues(of:)``.
    public let captures: RouteCaptures
}
