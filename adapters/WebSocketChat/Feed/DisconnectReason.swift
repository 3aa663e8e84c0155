import AdapterThreads

/// The reason that a feed's connection, or an attempt to connect, ended.
enum FeedEnd: Error, Equatable {
    /// The transport reported the end.
    case transport(ConnectionEnd)
    /// A secret could not be read or is no valid header value; the text names the secret and the reason.
    case noSecret(String)
    /// The host name could not be resolved, for this reason.
    case notResolved(String)
    /// Reading secrets and resolving the name took longer than this.
    case slowLookup(Duration)
    /// An address did not lead to an open connection within this time.
    case slowAnswer(Duration)
    /// The server sent nothing after a ping.
    case noPong
    /// The server agreed to this subprotocol, which was not offered; `nil` if it agreed to none of those offered.
    case wrongSubprotocol(String?)

    /// Whether retrying soon is pointless.
    var isConfigurationFault: Bool {
        switch self {
        case .noSecret, .wrongSubprotocol, .transport(.unusable), .transport(.notSecured): true
        case .transport(.refused(let status)): FeedEnd.needsConfiguration(status)
        default: false
        }
    }

    /// Whether another address of the host may work.
    var concernsAddress: Bool {
        switch self {
        case .slowAnswer, .transport(.notConnected), .transport(.lost): true
        default: false
        }
    }

    /// Whether either side closed the connection normally.
    var isNormalClose: Bool {
        switch self {
        case .transport(.closedByPeer(let code, _)), .transport(.closedHere(let code, _)):
            code == .normal || code == .goingAway
        default: false
        }
    }

    /// The connection's end, without the feed's additional reasons.
    var ofConnection: ConnectionEnd {
        if case .transport(let end) = self { end } else { .lost }
    }

    /// The kind of reason; each kind is logged at most once a minute.
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
    /// Returns a sentence with the event, the server and, if there is one, the remedy. Of the peer's text it contains
    /// only a close frame's reason, in quotes.
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
    /// The reason as other modules receive it.
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
        // Closing with any other code answers a violation: a message too large, invalid UTF-8, or an unaccepted kind.
        case .closedHere(let code, _):
            code == .normal || code == .goingAway ? .closed(code: code.number) : .brokeProtocol
        case .lost, .stopped: .lost
        }
    }
}

/// How a feed's last connection ended, or why it failed, for programs that distinguish these cases.
package enum WebSocketEnding: Sendable, Hashable {
    /// A secret or file that the request needs is unavailable.
    case notPrepared
    /// The host name could not be resolved, or no address led to an open connection.
    case notReached
    /// TLS failed: the certificate is not trusted or does not match the host.
    case notSecured
    /// The server answered with this HTTP status instead of an upgrade.
    case refused(status: Int)
    /// The server violated RFC 6455, sent an unaccepted message, or did not answer with a WebSocket.
    case brokeProtocol
    /// The server closed with this code (RFC 6455, 7.4), or `nil` if its close frame had none.
    case closed(code: UInt16?)
    /// The connection broke or the server stopped responding, without a close frame.
    case lost
}
