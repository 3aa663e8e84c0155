/// What a ``RouteWalk`` must know of one host or segment; found once, whatever the number of nodes that ask.
struct RouteSegment {
    /// The number of the literal it is.
    let literal: Int?
    let isEmpty: Bool
    let isInt: Bool
    let isUUID: Bool

    init(_ pieces: URLPieces, at position: Int, in trie: RouteTrie) {
        let text = pieces[position].utf8
        literal = trie.number(of: pieces.comparable(at: position))
        isEmpty = text.isEmpty
        isInt = CaptureKind.int.accepts(text)
        isUUID = CaptureKind.uuid.accepts(text)
    }
}
