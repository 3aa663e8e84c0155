/// An invariant that does not hold.
struct Violation: Sendable, CustomStringConvertible {
    let invariant: String
    /// Where in the log.
    let at: Int
    let text: String

    var description: String { "\(invariant): \(text)" }
}
