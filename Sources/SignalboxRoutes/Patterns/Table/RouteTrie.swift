/// The patterns of a table, laid over each other: each host or segment that several begin with is there once.
///
/// Literals have numbers, so that a segment is looked up once, whichever node asks.
struct RouteTrie: Sendable {
    private struct Step: Hashable {
        let node: UInt32
        let literal: UInt32
    }

    private(set) var nodes: [RouteNode] = []
    private var roots: [RouteRoot: UInt32] = [:]
    private var literals: [ByteText: RouteLiteral] = [:]
    /// The nodes behind a literal, the first place of each literal left out.
    private var children: [Step: UInt32] = [:]
    private var longestLiteral = 0

    func node(of root: RouteRoot) -> UInt32? { roots[root] }

    /// What a segment or host is as a literal, or `nil` when no pattern has that literal.
    func literal(_ text: String) -> RouteLiteral? {
        text.utf8.count <= longestLiteral ? literals[ByteText(text)] : nil
    }

    func child(of node: UInt32, _ literal: RouteLiteral) -> UInt32? {
        literal.node == node ? literal.child : children[Step(node: node, literal: literal.number)]
    }

    /// Adds a pattern.
    ///
    /// - Returns: the route that is there already, in place of this one.
    mutating func insert(_ pattern: URLPattern, route: UInt32) -> UInt32? {
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

    private mutating func claim(
        _ place: WritableKeyPath<RouteNode, UInt32?>,
        of node: UInt32,
        _ route: UInt32
    ) -> UInt32? {
        if let other = nodes[Int(node)][keyPath: place] { return other }
        nodes[Int(node)][keyPath: place] = route
        return nil
    }

    private mutating func root(_ root: RouteRoot) -> UInt32 {
        if let node = roots[root] { return node }
        let node = addNode()
        roots[root] = node
        return node
    }

    private mutating func child(of node: UInt32, text: String) -> UInt32 {
        let key = ByteText(text)
        if let literal = literals[key] {
            if let child = child(of: node, literal) { return child }
            let child = addNode()
            children[Step(node: node, literal: literal.number)] = child
            nodes[Int(node)].hasLiterals = true
            return child
        }
        let child = addNode()
        literals[key] = RouteLiteral(number: UInt32(literals.count), node: node, child: child)
        longestLiteral = max(longestLiteral, text.utf8.count)
        nodes[Int(node)].hasLiterals = true
        return child
    }

    private mutating func child(of node: UInt32, _ place: WritableKeyPath<RouteNode, UInt32?>) -> UInt32 {
        if let child = nodes[Int(node)][keyPath: place] { return child }
        let child = addNode()
        nodes[Int(node)][keyPath: place] = child
        return child
    }

    private mutating func addNode() -> UInt32 {
        nodes.append(RouteNode())
        return UInt32(nodes.count - 1)
    }
}
