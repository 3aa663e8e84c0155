/// Stores a table's patterns in a trie, in which patterns that begin with the same host and segments share nodes.
///
/// The literals are numbered, so that each segment has to be looked up only once for all nodes.
struct RouteTrie: Sendable {
    private struct Step: Hashable {
        let node: UInt32
        let literal: UInt32
    }

    private(set) var nodes: [RouteNode] = []
    private var roots: [RouteRoot: UInt32] = [:]
    private var literals: [ByteText: RouteLiteral] = [:]
    /// The node that follows each occurrence of a literal, except for the literal's first occurrence, which
    /// ``RouteLiteral`` stores.
    private var children: [Step: UInt32] = [:]
    private var longestLiteral = 0

    func node(of root: RouteRoot) -> UInt32? { roots[root] }

    /// Returns the literal that matches the text of a segment or host, or `nil` if no pattern contains it.
    func literal(_ text: String) -> RouteLiteral? {
        text.utf8.count <= longestLiteral ? literals[ByteText(text)] : nil
    }

    func child(of node: UInt32, _ literal: RouteLiteral) -> UInt32? {
        literal.node == node ? literal.child : children[Step(node: node, literal: literal.number)]
    }

    /// Adds a pattern, unless it conflicts with a route that is already in the trie.
    ///
    /// - Returns: The conflicting route, or `nil` if the pattern was added.
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
        _ successor: WritableKeyPath<RouteNode, UInt32?>,
        of node: UInt32,
        _ route: UInt32
    ) -> UInt32? {
        if let other = nodes[Int(node)][keyPath: successor] { return other }
        nodes[Int(node)][keyPath: successor] = route
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
        let literal = literals[key]
        if let literal, let child = child(of: node, literal) { return child }
        let child = addNode()
        nodes[Int(node)].hasLiterals = true
        if let literal {
            children[Step(node: node, literal: literal.number)] = child
        } else {
            literals[key] = RouteLiteral(number: UInt32(literals.count), node: node, child: child)
            longestLiteral = max(longestLiteral, text.utf8.count)
        }
        return child
    }

    private mutating func child(of node: UInt32, _ successor: WritableKeyPath<RouteNode, UInt32?>) -> UInt32 {
        if let child = nodes[Int(node)][keyPath: successor] { return child }
        let child = addNode()
        nodes[Int(node)][keyPath: successor] = child
        return child
    }

    private mutating func addNode() -> UInt32 {
        nodes.append(RouteNode())
        return UInt32(nodes.count - 1)
    }
}

/// A node in a ``RouteTrie``, with its possible successors. The type is compact, because a table may have many nodes
/// and each lookup visits different nodes.
struct RouteNode: Sendable {
    /// Whether a literal can come next.
    var hasLiterals = false
    /// The successor nodes.
    var int: UInt32?
    var uuid: UInt32?
    var text: UInt32?
    /// The route that captures all remaining segments from this node on.
    var rest: UInt32?
    /// The route that ends here.
    var end: UInt32?
}

/// A literal used by at least one pattern in a ``RouteTrie``.
struct RouteLiteral: Sendable {
    let number: UInt32
    /// The first node that this literal follows, and the node after the literal. Most literals occur in no other place.
    let node: UInt32
    let child: UInt32
}

/// Searches from left to right for the most specific route for a URL, and backtracks when an attempt fails.
///
/// Pending attempts are kept on a stack with the most specific one on top, so there is no recursion. Each node has one
/// parent and is therefore visited at most once. A segment is compared with the literals, and with each kind, at most
/// once, when the result of the comparison is first needed.
package struct RouteWalk {
    private enum Attempt {
        case node(UInt32, position: Int)
        case rest(route: UInt32)
    }

    private let trie: RouteTrie
    let pieces: URLPieces
    /// The pieces of the URL, starting at the host's position.
    private var segments: [RouteSegment] = []
    private var attempts: [Attempt] = []
    /// The number of nodes visited.
    package private(set) var visits = 0

    init(_ trie: RouteTrie, _ pieces: URLPieces) {
        self.trie = trie
        self.pieces = pieces
    }

    /// The number of times a host or segment was read.
    package var reads: Int { segments.reduce(0) { $0 + $1.reads } }

    /// Searches from the root.
    ///
    /// - Returns: The number of the route, or `nil` if no pattern with the given root matches.
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

    /// Pushes the possible successors, starting with the least specific one, because the search tries the successor
    /// pushed last first.
    private mutating func visit(_ number: UInt32, at position: Int) -> UInt32? {
        visits += 1
        let node = trie.nodes[Int(number)]
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
            let child = trie.child(of: number, literal)
        {
            attempts.append(.node(child, position: position + 1))
        }
        return nil
    }
}

/// Caches what is known about one host or segment. Each property is computed at most once, when it is first needed.
struct RouteSegment {
    private let position: Int
    private var literal: RouteLiteral??
    private var isInt: Bool?
    private var isUUID: Bool?
    /// The number of times the text was read.
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
