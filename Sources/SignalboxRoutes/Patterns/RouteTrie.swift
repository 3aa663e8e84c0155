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

/// A place in a ``RouteTrie``: what may come next there. Numbers are small, as a table may have many nodes and a lookup
/// meets others each time.
struct RouteNode: Sendable {
    /// Whether the trie has any literal next.
    var hasLiterals = false
    /// Nodes.
    var int: UInt32?
    var uuid: UInt32?
    var text: UInt32?
    /// The route whose rest begins here.
    var rest: UInt32?
    /// The route that ends here.
    var end: UInt32?
}

/// A literal that some pattern of a ``RouteTrie`` has.
struct RouteLiteral: Sendable {
    let number: UInt32
    /// The first node that had it next, and the node behind it there: most literals have one such place.
    let node: UInt32
    let child: UInt32
}

/// Looks for a URL's most specific route, from left to right, and goes back where a way ends.
///
/// What is still to be tried waits in a list, the most specific last: no recursion. A node is reached in one way only,
/// and so is visited at most once; a segment is compared with literals, and with each kind, when the first node asks for
/// it, and never again.
package struct RouteWalk {
    private enum Attempt {
        case node(UInt32, position: Int)
        case rest(route: UInt32)
    }

    private let trie: RouteTrie
    let pieces: URLPieces
    /// From the host's position on.
    private var segments: [RouteSegment] = []
    private var attempts: [Attempt] = []
    /// How many nodes were visited.
    package private(set) var visits = 0

    init(_ trie: RouteTrie, _ pieces: URLPieces) {
        self.trie = trie
        self.pieces = pieces
    }

    /// How many times a host or segment was read.
    package var reads: Int { segments.reduce(0) { $0 + $1.reads } }

    /// - Returns: the number of a route, or `nil` when no pattern with that root matches.
    mutating func route(from root: RouteRoot) -> Int? {
        guard let start = trie.node(of: root) else { return nil }
        attempts.append(.node(start, position: root.firstPosition))
        while let attempt = attempts.popLast() {
            switch attempt {
            case .rest(let route): return Int(route)
            case .node(let node, let position):
                if let route = visit(node, at: position) { return Int(route) }
            }
        }
        return nil
    }

    /// Notes what may come next, the least specific first, as the last noted is tried first.
    private mutating func visit(_ place: UInt32, at position: Int) -> UInt32? {
        visits += 1
        let node = trie.nodes[Int(place)]
        if position == pieces.end, let route = node.end { return route }
        if let route = node.rest, pieces.allowsRest(from: position) { attempts.append(.rest(route: route)) }
        guard position < pieces.end else { return nil }
        let index = position - URLPieces.hostPosition
        while segments.count <= index { segments.append(RouteSegment(at: segments.count + URLPieces.hostPosition)) }
        if let text = node.text, !pieces[position].isEmpty { attempts.append(.node(text, position: position + 1)) }
        if let uuid = node.uuid, segments[index].isUUID(in: pieces) {
            attempts.append(.node(uuid, position: position + 1))
        }
        if let int = node.int, segments[index].isInt(in: pieces) { attempts.append(.node(int, position: position + 1)) }
        if node.hasLiterals, let literal = segments[index].literal(of: pieces, in: trie),
            let child = trie.child(of: place, literal)
        {
            attempts.append(.node(child, position: position + 1))
        }
        return nil
    }
}

/// What a ``RouteWalk`` must know of one host or segment; each is found out when the first node asks, and once.
struct RouteSegment {
    private let position: Int
    private var literal: RouteLiteral??
    private var isInt: Bool?
    private var isUUID: Bool?
    /// How many times the text was read.
    private(set) var reads = 0

    init(at position: Int) {
        self.position = position
    }

    mutating func literal(of pieces: URLPieces, in trie: RouteTrie) -> RouteLiteral? {
        if let literal { return literal }
        reads += 1
        let found = trie.literal(pieces.comparable(at: position))
        literal = .some(found)
        return found
    }

    mutating func isInt(in pieces: URLPieces) -> Bool {
        if let isInt { return isInt }
        reads += 1
        let found = CaptureKind.int.accepts(pieces[position].utf8)
        isInt = found
        return found
    }

    mutating func isUUID(in pieces: URLPieces) -> Bool {
        if let isUUID { return isUUID }
        reads += 1
        let found = CaptureKind.uuid.accepts(pieces[position].utf8)
        isUUID = found
        return found
    }
}
