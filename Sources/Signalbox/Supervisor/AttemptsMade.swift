/// How far the attempts at an arrival had come when it was decided.
struct AttemptsMade: Sendable {
    /// How many were begun.
    let begun: Int
    /// Whether the outcome is what the last of them ended in, as a plugin or middleware made it; else the supervisor decided.
    let isOutcomeOfLast: Bool

    /// Something else decided before the first.
    static let none = AttemptsMade(begun: 0, isOutcomeOfLast: false)
}
