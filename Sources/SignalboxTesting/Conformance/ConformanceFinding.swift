/// Something that an adapter, or what surrounds it, did otherwise than the contract says.
public struct ConformanceFinding: Sendable, Hashable, CustomStringConvertible {
    /// The case that found it.
    public let testCase: AdapterConformance.Case
    /// What should have been.
    public let expected: String
    /// What was.
    public let seen: String

    /// One line: the case, what was expected, what was seen.
    public var description: String { "\(testCase): expected \(expected); saw \(seen)" }
}
