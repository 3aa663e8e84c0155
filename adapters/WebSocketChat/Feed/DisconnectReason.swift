import AdapterThreads

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

extension FeedEnd {
    /// What happened, to which server, and what to do where somebody can. Of the peer's words only a close frame's reason is
    /// repeated, in quotes.
    func sentence(about url: WebSocketURL) -> String {
        switch self {
        case .transport(let end): FeedEnd.sentence(end, url)
        case .noSecret(let words): "not connected to \(url): \(words)"
        case .notResolved(let reason): "the host of \(url) cannot be resolved: \(reason)"
        case .slowLookup(let limit):
            "secrets and the address of \(url) were not there within \(limit.shownInSeconds): look at the name server"
        case .slowAnswer(let limit): "\(url) did not open the connection within \(limit.shownInSeconds)"
        case .noPong: "\(url) did not answer a ping; the connection was cut"
        case .wrongSubprotocol(let answered?):
            "\(url) agreed to the subprotocol \(answered.debugDescription), which was not offered"
        case .wrongSubprotocol(nil):
            "\(url) agreed to none of the subprotocols that were offered: offer those it speaks, or none"
        }
    }

    private static func sentence(_ end: ConnectionEnd, _ url: WebSocketURL) -> String {
        switch end {
        case .unusable(let reason): "no request for \(url) can be made: \(reason)"
        case .notResolved(let reason): "the host of \(url) cannot be resolved: \(reason)"
        case .notConnected(let reason): "\(url) cannot be reached: \(reason)"
        case .notSecured(let reason):
            "the connection to \(url) cannot be secured: \(reason). Check whose certificates are trusted, and that the "
                + "server's is for this host"
        case .refused(let status): "\(url) refused the connection: status \(status)" + advice(status)
        case .noUpgrade(let reason): "\(url) gave no answer that opens a WebSocket: \(reason)"
        case .closedByPeer(.absent, _): "\(url) closed the connection without saying why"
        case .closedByPeer(let code, let reason):
            "\(url) closed the connection: \(code.number)\(quoted(reason))"
        case .closedHere(let code, let reason):
            "the connection to \(url) was closed here: \(code.number)\(quoted(reason))"
        case .brokeProtocol: "\(url) sent what RFC 6455 forbids; the connection was dropped"
        case .lost, .stopped: "the connection to \(url) was lost"
        }
    }

    private static func quoted(_ reason: String) -> String {
        reason.isEmpty ? "" : " \(ShownText.quoted(reason))"
    }

    private static func advice(_ status: Int) -> String {
        switch status {
        case 300..<400: ". Redirections are not followed: use the URL it leads to"
        case 401: ". Check the bearer token"
        case 403: ". Check the origin, and what the token allows"
        case 404, 410: ". Check the path"
        case 400, 405, 426: ". Check path and headers, and that it speaks WebSocket version 13"
        case 407: ". A proxy stands in between and wants a login, which is not supported"
        default: ""
        }
    }
}

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

/// How a feed's last connection ended, or why there was none, for programs that tell such ends apart.
package enum WebSocketEnding: Sendable, Hashable {
    /// What the request needs - a secret, a file - is not there.
    case notPrepared
    /// The host's name could not be resolved, or no address led to an open connection.
    case notReached
    /// TLS failed: a certificate is not trusted, or not for this host.
    case notSecured
    /// The server answered with this HTTP status in place of a connection.
    case refused(status: Int)
    /// The server sent what RFC 6455 forbids or what is not taken, or answered without a WebSocket.
    case brokeProtocol
    /// The server closed with this code (RFC 6455, 7.4); `nil`: its close frame had none.
    case closed(code: UInt16?)
    /// The connection broke, or the server gave no sign of life, without a close frame.
    case lost
}
