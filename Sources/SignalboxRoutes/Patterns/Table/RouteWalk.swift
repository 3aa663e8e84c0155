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
