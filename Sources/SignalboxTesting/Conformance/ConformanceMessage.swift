public import SignalboxCore

/// A message that the conformance suite asks a subject's far side to send.
public struct ConformanceMessage: Sendable, Hashable {
    /// What tells the message from all others of the subject: the id it is sent under, where its form has one.
    public let id: ActionID
    /// The action's name, or `nil` when the message must be one that the adapter cannot read as an action.
    public let action: ActionName?
    /// The body, as JSON in one line.
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
