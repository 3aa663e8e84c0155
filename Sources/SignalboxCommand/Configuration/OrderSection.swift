/// Which actions of a plugin wait for each other.
enum OrderSection: Sendable, Hashable {
    /// Those of one source.
    case source
    /// None.
    case none
    /// Those whose bodies have the same value at this path of members.
    case key([String])

    /// The words for what has no path.
    static let words = ["source", "none"]
}
