/// What kept the conformance suite or one of its subjects from going on, in words.
public struct ConformanceError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What happened.
    public let description: String

    /// An error that says this.
    public init(_ description: String) {
        self.description = description
    }
}
