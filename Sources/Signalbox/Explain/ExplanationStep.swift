/// What one stage says about an arrival.
public struct ExplanationStep: Sendable, Hashable, Encodable, CustomStringConvertible {
    /// Which stage.
    public let stage: ExplanationStage
    /// Whether it lets the arrival go on.
    public let passes: Bool
    /// Why, or what is configured, in words. Words of rules, middleware, plugins and their errors are in it as they are:
    /// ``description`` has it escaped and redacted.
    public let detail: String

    init(_ stage: ExplanationStage, passes: Bool = true, _ detail: String) {
        self.stage = stage
        self.passes = passes
        self.detail = detail
    }

    /// One line, such as `access          stops   refused by source push`, escaped and without secrets.
    public var description: String {
        let padding = String(repeating: " ", count: max(1, 16 - stage.description.utf8.count))
        return "\(stage)\(padding)\(passes ? "passes" : "stops ")  \(LogText.shown(detail))"
    }
}
