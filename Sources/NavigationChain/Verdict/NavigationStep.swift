/// One step of the way to a verdict: who was asked, and what came of it.
public struct NavigationStep: Sendable, Hashable {
    /// The handler's name.
    public let name: String
    /// What came of asking it.
    public let answer: NavigationAnswer

    init(name: String, answer: NavigationAnswer) {
        self.name = name
        self.answer = answer
    }
}

extension NavigationStep: CustomStringConvertible {
    /// Name and answer, in one line.
    public var description: String { "\(LineText.line(name)) \(answer)" }
}
