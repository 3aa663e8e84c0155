public import SignalboxCore

/// What happens to an arrival on its way to a plugin, stage by stage, and why.
///
/// Of an arrival that is asked about it says what would happen now (``Supervisor/explain(_:)``), and what every stage
/// says that can be asked, those behind the one that stops it included. Of a dead letter it says what did happen
/// (``DeadLetter/explanation``), up to the stage that stopped it.
///
/// Printed it is a line with the verdict and one line for each step.
public struct Explanation: Sendable, Hashable, CustomStringConvertible {
    /// The source it came from.
    public let source: SourceName
    /// The envelope it was read by, or tried with.
    public let envelope: EnvelopeKind
    /// The action's name, or `nil` when the message could not be read.
    public let action: ActionName?
    /// The action's id, or `nil` when the message could not be read.
    public let id: ActionID?
    /// What the stages say, in the order of the path.
    public let steps: [ExplanationStep]
    /// What it comes to: the first step that does not pass decides.
    public let verdict: ExplanationVerdict

    /// The verdict and the steps, one a line, without a line end behind the last, escaped and without secrets.
    public var description: String {
        let subject = action.map { "\($0) \(id.map { LogText.shown($0.text) } ?? "")" } ?? "unreadable message"
        return ([("\(subject) of \(source): \(verdict)")] + steps.map { "  \($0)" }).joined(separator: "\n")
    }
}

extension Explanation: Encodable {
    private enum CodingKeys: String, CodingKey { case source, envelope, action, id, verdict, steps }

    /// Encodes names and kinds as their texts, and leaves out an action and an id that are not known. Id and details are as
    /// they are, not redacted.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(source.text, forKey: .source)
        try container.encode(envelope.description, forKey: .envelope)
        try container.encodeIfPresent(action?.text, forKey: .action)
        try container.encodeIfPresent(id?.text, forKey: .id)
        try container.encode(verdict, forKey: .verdict)
        try container.encode(steps, forKey: .steps)
    }
}
