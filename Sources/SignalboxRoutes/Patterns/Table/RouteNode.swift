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
