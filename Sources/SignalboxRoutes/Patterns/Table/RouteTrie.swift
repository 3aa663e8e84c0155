/// The patterns of a table, laid over each other: each host or segment that several begin with is there once.
///
/// Literals have numbers, so that a segment is looked up once, whichever node asks.
struct RouteTrie: Sendable {
    struct Step: Hashable {
        let node: Int
        let literal: Int
    }

    private(set) var nodes: [RouteNode] = []
    private var roots: [RouteRoot: Int] = [:]
    private var literals: [ByteText: Int] = [:]
    private var children: [Step: Int] = [:]
    private var longestLiteral = 0

    func node(of root: RouteRoot) -> Int? { roots[root] }

    /// The number of a literal that some pattern has.
    func number(of text: String) -> Int? {
        text.utf8.count <= longestLiteral ? literals[ByteText(text)] : nil
    }

    func child(of node: Int, literal: Int) -> Int? {
        children[Step(node: node, literal: literal)]
    }

    /// Adds a pattern.
    ///
    /// - Returns: the route that is there already, in place of this one.
    mutating func insert(_ pattern: URLPattern, route: Int) -> Int? {
        var node = self.root(pattern.root)
        for element in pattern.elements {
            switch element {
            case .literal(let text): node = child(of: node, text: text)
            case .capture(_, .int): node = child(of: node, \.int)
            case .capture(_, .uuid): node = child(of: node, \.uuid)
            case .capture(_, .rest): return claim(\.rest, of: node, route)
            case .capture: node = child(of: node, \.text)
            }
        }
        return claim(\.end, of: node, route)
    }

    private mutating func claim(_ place: WritableKeyPath<RouteNode, Int?>, of node: Int, _ route: Int) -> Int? {
        if let other = nodes[node][keyPath: place] { return other }
        nodes[node][keyPath: place] = route
        return nil
    }

    private mutating func root(_ root: RouteRoot) -> Int {
        if let node = roots[root] { return node }
        roots[root] = nodes.count
        return addNode()
    }

    private mutating func child(of node: Int, text: String) -> Int {
        let key = ByteText(text)
        let literal = literals[key] ?? literals.count
        literals[key] = literal
        longestLiteral = max(longestLiteral, text.utf8.count)
        let step = Step(node: node, literal: literal)
        if let child = children[step] { return child }
        nodes[node].hasLiterals = true
        children[step] = nodes.count
        return addNode()
    }

    private mutating func child(of node: Int, _ place: WritableKeyPath<RouteNode, Int?>) -> Int {
        if let child = nodes[node][keyPath: place] { return child }
        nodes[node][keyPath: place] = nodes.count
        return addNode()
    }

    private mutating func addNode() -> Int {
        nodes.append(RouteNode())
        return nodes.count - 1
    }
}
