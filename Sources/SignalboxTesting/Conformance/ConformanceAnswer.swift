public import SignalboxCore

/// What the far side of an adapter was told about a message it sent.
public enum ConformanceAnswer: Sendable, Hashable {
    /// It was handled, with this reply as JSON, or `nil` when the answer has none.
    case reply(Bytes?)
    /// It was not handled. The code is the reason's word: `malformed`, `unknownAction`, `sourceNotAllowed`, `invalidBody`,
    /// `unavailable`, `threw`, `timeout`, `drain`, `stop` and so on.
    case error(code: String)

    /// The answer that says this outcome.
    public init(_ outcome: Outcome) {
        if case .handled(let reply) = outcome {
            self = .reply(reply)
        } else {
            self = .error(code: outcome.code)
        }
    }
}
