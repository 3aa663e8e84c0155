public import SignalboxCore

/// A message that the conformance suite asks a subject's far side to send.
public struct ConformanceMessage: Sendable, Hashable {
    /// What tells the message from all others of the subject.
    ///
    /// Required: the message must be sent under this id, so that the plugin's context has it, as the suite knows a message
    /// again by nothing else. The bytes of a message that cannot be read must contain its text too.
    public let id: ActionID
    /// The action's name, or `nil` when the message must be one that the adapter cannot read as an action.
    public let action: ActionName?
    /// The body, as JSON in one line, of up to 60,100 bytes; the whole envelope stays below 65,536.
    public let body: String

    /// - Parameters:
    ///   - id: differs from those of all other messages.
    ///   - action: `nil` for a message that cannot be read.
    ///   - body: JSON in one line.
    public init(id: ActionID, action: ActionName?, body: String) {
        self.id = id
        self.action = action
        self.body = body
    }

    /// The message as a standard envelope in one line; an unreadable one as bytes that are no JSON.
    public var envelope: String {
        guard let action else { return "{\"id\":\(StandardEnvelope.quoted(id.text)), not an action" }
        return StandardEnvelope.text(action, id: id, body: body)
    }
}
