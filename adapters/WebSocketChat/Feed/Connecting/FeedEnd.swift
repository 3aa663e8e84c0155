/// How a connection of a feed, or the attempt to make one, ended.
enum FeedEnd: Error, Equatable {
    /// As the transport told it.
    case transport(ConnectionEnd)
    /// A secret could not be read, or cannot stand in a header: where it is kept, and what is wrong.
    case noSecret(String)
    /// The host's name could not be resolved, for this reason.
    case notResolved(String)
    /// Secrets and name were not there in this time.
    case slowLookup(Duration)
    /// An address did not lead to an open connection in this time.
    case slowAnswer(Duration)
    /// The server gave no sign of life after a ping.
    case noPong
    /// The server agreed to this subprotocol, which was not offered, or to none of those that were.
    case wrongSubprotocol(String?)

    /// Trying again soon is pointless.
    var isConfigurationFault: Bool {
        switch self {
        case .noSecret, .wrongSubprotocol, .transport(.unusable), .transport(.notSecured): true
        case .transport(.refused(let status)): FeedEnd.needsConfiguration(status)
        default: false
        }
    }

    /// Another address of the same host may do better.
    var concernsAddress: Bool {
        switch self {
        case .slowAnswer, .transport(.notConnected), .transport(.lost): true
        default: false
        }
    }

    /// Either side closed as one does when all is said.
    var isNormalClose: Bool {
        switch self {
        case .transport(.closedByPeer(let code, _)), .transport(.closedHere(let code, _)):
            code == .normal || code == .goingAway
        default: false
        }
    }

    /// The end as the connection has it, whatever the feed knows besides.
    var ofConnection: ConnectionEnd {
        if case .transport(let end) = self { end } else { .lost }
    }

    /// Ends of one kind share a log line a minute.
    var kind: String {
        switch self {
        case .transport(let end): FeedEnd.kind(of: end)
        case .noSecret: "secret"
        case .notResolved, .slowLookup: "lookup"
        case .slowAnswer: "slow"
        case .noPong: "ping"
        case .wrongSubprotocol: "subprotocol"
        }
    }

    private static func kind(of end: ConnectionEnd) -> String {
        switch end {
        case .unusable: "unusable"
        case .notResolved: "lookup"
        case .notConnected: "notConnected"
        case .notSecured: "notSecured"
        case .refused(let status): "refused \(status)"
        case .noUpgrade: "noUpgrade"
        case .closedByPeer(let code, _): "closed \(code.number)"
        case .closedHere(let code, _): "closed here \(code.number)"
        case .brokeProtocol: "protocol"
        case .lost, .stopped: "lost"
        }
    }

    private static func needsConfiguration(_ status: Int) -> Bool {
        switch status {
        case 300..<400, 400, 401, 403, 404, 405, 407, 410, 426: true
        default: false
        }
    }
}
