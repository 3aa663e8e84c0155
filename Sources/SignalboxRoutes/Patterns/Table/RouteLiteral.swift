/// A literal that some pattern of a ``RouteTrie`` has.
struct RouteLiteral: Sendable {
    let number: UInt32
    /// The first node that had it next, and the node behind it there: most literals have one such place.
    let node: UInt32
    let child: UInt32
}
