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
