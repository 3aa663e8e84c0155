/// How a rule is composed, for answers that name the part which decided.
indirect enum AccessStructure: Sendable {
    /// Of nothing: the rule decides itself.
    case one
    case any([AccessRule])
    case all([AccessRule])
    case not(AccessRule)
}
