extension FeedEnd {
    /// The same for programs outside.
    var ending: WebSocketEnding {
        switch self {
        case .noSecret: .notPrepared
        case .notResolved, .slowLookup, .slowAnswer: .notReached
        case .noPong: .lost
        case .wrongSubprotocol: .brokeProtocol
        case .transport(let end): FeedEnd.ending(of: end)
        }
    }

    private static func ending(of end: ConnectionEnd) -> WebSocketEnding {
        switch end {
        case .unusable: .notPrepared
        case .notResolved, .notConnected: .notReached
        case .notSecured: .notSecured
        case .refused(let status): .refused(status: status)
        case .noUpgrade, .brokeProtocol: .brokeProtocol
        case .closedByPeer(let code, _): .closed(code: code == .absent ? nil : code.number)
        // Whatever else is closed here with such a code breaks a rule: what is too large, no UTF-8, of a kind not taken.
        case .closedHere(let code, _):
            code == .normal || code == .goingAway ? .closed(code: code.number) : .brokeProtocol
        case .lost, .stopped: .lost
        }
    }
}
