/// How a rule is made of its parts, for answers that name the part which decided.
enum AccessConnective: Sendable {
    /// The rule decides by itself.
    case none
    case any
    case all
}
