/// What relay.js never posts.
struct RelayTextError: Error, Hashable, CustomStringConvertible {
    /// Counted from 1.
    let line: Int
    let detail: String

    var description: String { "line \(line): \(detail)" }
}
