/// What one stage says about an arrival.
public struct ExplanationStep: Sendable, Hashable, Encodable, CustomStringConvertible {
    /// Which stage.
    public let stage: ExplanationStage
    /// Whether it lets the arrival go on.
    public let passes: Bool
    /// Why, or what is configured, in words. Words of rules, plugins and their errors are in it as they are: escape it
    /// before it is shown.
    public let detail: String

    init(_ stage: ExplanationStage, passes: Bool = true, _ detail: String) {
        self.stage = stage
        self.passes = passes
        self.detail = detail
    }

    /// One line, such as `access          stops   refused by source push`, with control characters escaped.
    public var description: String {
        let padding = String(repeating: " ", count: max(1, 16 - stage.description.utf8.count))
        return "\(stage)\(padding)\(passes ? "passes" : "stops ")  \(LogText.escaped(detail))"
    }
}
