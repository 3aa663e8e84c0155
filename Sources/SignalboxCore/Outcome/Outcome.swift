/// What became of an arrival: exactly one per arrival that was accepted, the unreadable ones too.
public enum Outcome: Sendable, Hashable {
    /// The plugin did its work; `reply` is its answer as JSON, or `nil` when it has none.
    case handled(reply: Bytes?)
    /// The plugin was not called.
    case rejected(Rejection)
    /// The plugin threw, or did not return in time.
    case failed(Failure)
    /// Signalbox let go of the arrival before it was decided: not acknowledged, and it may come again.
    case abandoned(Abandonment)

    /// `handled`, `rejected`, `failed` or `abandoned`: the word used in logs and JSON.
    public var name: String {
        switch self {
        case .handled: "handled"
        case .rejected: "rejected"
        case .failed: "failed"
        case .abandoned: "abandoned"
        }
    }

    /// The word for what exactly became of it, as answers, logs and JSON have it: `handled`, or the reason's, such as
    /// `unknownAction`, `timeout` or `drain`.
    public var code: String {
        switch self {
        case .handled: name
        case .rejected(let rejection): rejection.reason.description
        case .failed(let failure): failure.reason.description
        case .abandoned(let abandonment): abandonment.description
        }
    }
}
