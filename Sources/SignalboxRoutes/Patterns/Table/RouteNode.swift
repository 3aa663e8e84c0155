/// A place in a ``RouteTrie``: what may come next there, as places of other nodes.
struct RouteNode: Sendable {
    /// Whether the trie has any literal next.
    var hasLiterals = false
    var int: Int?
    var uuid: Int?
    var text: Int?
    /// The route whose rest begins here.
    var rest: Int?
    /// The route that ends here.
    var end: Int?
}
