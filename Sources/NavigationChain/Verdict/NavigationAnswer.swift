/// What came of asking one handler.
public enum NavigationAnswer: Sendable, Hashable {
    /// It passed the request on.
    case notMine
    /// It decided, and nobody was asked after it.
    case decided(NavigationDecision)
    /// It threw, with the error's type and words, or could not be called. The verdict is to cancel.
    case failed(String)
    /// It did not answer in time. The verdict is to cancel; what it answers later is ignored.
    case late
    /// Whoever asked was cancelled before the handler was asked or had answered. The verdict is to cancel.
    case abandoned
}

extension NavigationAnswer: CustomStringConvertible {
    /// The word used in logs and JSON, such as `notMine`, without what a decision or an error says.
    public var description: String {
        switch self {
        case .notMine: "notMine"
        case .decided: "decided"
        case .failed: "failed"
        case .late: "late"
        case .abandoned: "abandoned"
        }
    }
}

extension NavigationAnswer {
    /// What a handler's call came to, when it returned.
    init(_ decision: NavigationDecision?) {
        self = decision.map(NavigationAnswer.decided) ?? .notMine
    }

    /// What a handler's call came to, when it threw.
    init(throwing error: any Error) {
        self = .failed(LineText.line("\(type(of: error)): \(error)"))
    }
}
