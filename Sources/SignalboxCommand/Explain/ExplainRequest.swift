/// What `explain` was asked for.
struct ExplainRequest: Sendable {
    /// What is explained.
    enum Subject: Sendable {
        case message(MessageInput, MessageFacts)
        case link(MessageInput)
    }

    let subject: Subject
    /// Which source brings it.
    let source: String?
    /// The configuration whose plugins would be called.
    let config: String
}
