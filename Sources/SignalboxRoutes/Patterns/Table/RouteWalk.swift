/// Looks for a URL's most specific route, from left to right, and goes back where a way ends.
///
/// What is still to be tried waits in a list, the most specific last: no recursion. A node is reached in one way only,
/// and so is visited at most once; a segment is read when the first node asks for it, and never again.
package struct RouteWalk {
    private enum Attempt {
        case node(Int, position: Int)
        case rest(route: Int)
    }

    private let trie: RouteTrie
    let pieces: URLPieces
    private var segments: [RouteSegment] = []
    private var attempts: [Attempt] = []
    /// How many nodes were visited.
    package private(set) var visits = 0
    /// How many times a host or segment was read.
    package private(set) var reads = 0

    init(_ trie: RouteTrie, _ pieces: URLPieces) {
        self.trie = trie
        self.pieces = pieces
    }

    /// - Returns: the number of a route, or `nil` when no pattern with that root matches.
    mutating func route(from root: RouteRoot) -> Int? {
        guard let start = trie.node(of: root) else { return nil }
        attempts = [.node(start, position: root.firstPosition)]
        while let attempt = attempts.popLast() {
            switch attempt {
            case .rest(let route): return route
            case .node(let node, let position):
                if let route = visit(trie.nodes[node], node, at: position) { return route }
            }
        }
        return nil
    }

    /// Notes what may come next, the least specific first, as the last noted is tried first.
    private mutating func visit(_ node: RouteNode, _ place: Int, at position: Int) -> Int? {
        visits += 1
        if position == pieces.end, let route = node.end { return route }
        if let route = node.rest, pieces.allowsRest(from: position) { attempts.append(.rest(route: route)) }
        guard position < pieces.end else { return nil }
        let segment = segment(at: position)
        if let text = node.text, !segment.isEmpty { attempts.append(.node(text, position: position + 1)) }
        if let uuid = node.uuid, segment.isUUID { attempts.append(.node(uuid, position: position + 1)) }
        if let int = node.int, segment.isInt { attempts.append(.node(int, position: position + 1)) }
        if node.hasLiterals, let literal = segment.literal, let child = trie.child(of: place, literal: literal) {
            attempts.append(.node(child, position: position + 1))
        }
        return nil
    }

    /// A root's node is the only one that asks for the host.
    private mutating func segment(at position: Int) -> RouteSegment {
        if segments.indices.contains(position) { return segments[position] }
        reads += 1
        let segment = RouteSegment(pieces, at: position, in: trie)
        if position == segments.count { segments.append(segment) }
        return segment
    }
}
