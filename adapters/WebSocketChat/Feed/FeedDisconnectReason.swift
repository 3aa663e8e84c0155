import AdapterSupport

/// The reason that a feed's connection, or an attempt to connect, ended.
enum FeedDisconnectReason: Error, Equatable {
    /// The transport reported the end.
    case transport(ConnectionCloseReason)
    /// A secret could not be read or is no valid header value; the text names the secret and the reason.
    case secretUnavailable(String)
    /// The host name could not be resolved, for this reason.
    case notResolved(String)
    /// Reading secrets and resolving the name took longer than this.
    case lookupTimeout(Duration)
    /// An address did not lead to an open connection within this time.
    case connectTimeout(Duration)
    /// The server sent nothing after a ping.
    case pongTimeout
    /// The server agreed to this subprotocol, which was not offered; `nil` if it agreed to none of those offered.
    case subprotocolMismatch(String?)

    /// Whether retrying soon is pointless.
    var isConfigurationError: Bool {
        switch self {
        case .secretUnavailable, .subprotocolMismatch, .transport(.invalidTarget), .transport(.tlsFailed): true
        case .transport(.refused(let status)): FeedDisconnectReason.needsConfiguration(status)
        default: false
        }
    }

    /// Whether another address of the host may work.
    var isAddressSpecific: Bool {
        switch self {
        case .connectTimeout, .transport(.unreachable), .transport(.lost): true
        default: false
        }
    }

    /// Whether either side closed the connection normally.
    var isNormalClose: Bool {
        switch self {
        case .transport(.closedByPeer(let code, _)), .transport(.closedLocally(let code, _)):
            code == .normal || code == .goingAway
        default: false
        }
    }

    /// The connection's end, without the feed's additional reasons.
    var closeReason: ConnectionCloseReason {
        if case .transport(let reason) = self { reason } else { .lost }
    }

    /// The kind of reason; each kind is logged at most once a minute.
    var kind: String {
        switch self {
        case .transport(let reason): FeedDisconnectReason.kind(of: reason)
        case .secretUnavailable: "secret"
        case .notResolved, .lookupTimeout: "lookup"
        case .connectTimeout: "slow"
        case .pongTimeout: "ping"
        case .subprotocolMismatch: "subprotocol"
        }
    }

    private static func kind(of reason: ConnectionCloseReason) -> String {
        switch reason {
        case .invalidTarget: "target"
        case .notResolved: "lookup"
        case .unreachable: "unreachable"
        case .tlsFailed: "tlsFailed"
        case .refused(let status): "refused \(status)"
        case .upgradeFailed: "upgradeFailed"
        case .closedByPeer(let code, _): "closed \(code.number)"
        case .closedLocally(let code, _): "closed locally \(code.number)"
        case .protocolViolation: "protocol"
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

extension FeedDisconnectReason {
    /// Returns a sentence with the event, the server and, if there is one, the remedy. Of the peer's text it contains
    /// only a close frame's reason, in quotes.
    func sentence(about url: WebSocketURL) -> String {
        switch self {
        case .transport(let reason): FeedDisconnectReason.sentence(reason, url)
        case .secretUnavailable(let reason): "cannot connect to \(url): \(reason)"
        case .notResolved(let reason): "cannot resolve the host of \(url): \(reason)"
        case .lookupTimeout(let limit):
            "secrets and the address of \(url) were not available within \(limit.secondsDescription): "
                + "check the name server"
        case .connectTimeout(let limit): "\(url) did not open the connection within \(limit.secondsDescription)"
        case .pongTimeout: "\(url) did not answer a ping; the connection was closed"
        case .subprotocolMismatch(let answered?):
            "\(url) selected the subprotocol \(answered.debugDescription), which was not offered"
        case .subprotocolMismatch(nil):
            "\(url) selected none of the offered subprotocols: offer those it supports, or none"
        }
    }

    private static func sentence(_ reason: ConnectionCloseReason, _ url: WebSocketURL) -> String {
        switch reason {
        case .invalidTarget(let reason): "cannot create a request for \(url): \(reason)"
        case .notResolved(let reason): "cannot resolve the host of \(url): \(reason)"
        case .unreachable(let reason): "cannot reach \(url): \(reason)"
        case .tlsFailed(let reason):
            "cannot secure the connection to \(url): \(reason). Check the trusted authorities, and that the server's "
                + "certificate is for this host"
        case .refused(let status): "\(url) refused the connection: status \(status)" + advice(status)
        case .upgradeFailed(let reason): "\(url) did not accept the WebSocket upgrade: \(reason)"
        case .closedByPeer(.absent, _): "\(url) closed the connection without a status code"
        case .closedByPeer(let code, let reason):
            "\(url) closed the connection: \(code.number)\(quoted(reason))"
        case .closedLocally(let code, let reason):
            "closed the connection to \(url): \(code.number)\(quoted(reason))"
        case .protocolViolation: "\(url) violated RFC 6455; the connection was dropped"
        case .lost, .stopped: "connection to \(url) lost"
        }
    }

    private static func quoted(_ reason: String) -> String {
        reason.isEmpty ? "" : " \(UntrustedText.quoted(reason))"
    }

    private static func advice(_ status: Int) -> String {
        switch status {
        case 300..<400: ". Redirects are not followed: use the target URL"
        case 401: ". Check the bearer token"
        case 403: ". Check the origin, and what the token allows"
        case 404, 410: ". Check the path"
        case 400, 405, 426: ". Check path and headers, and that the server supports WebSocket version 13"
        case 407: ". A proxy requires authentication, which is not supported"
        default: ""
        }
    }
}

extension FeedDisconnectReason {
    /// The reason as other modules receive it.
    var disconnectReason: WebSocketDisconnectReason {
        switch self {
        case .secretUnavailable: .notPrepared
        case .notResolved, .lookupTimeout, .connectTimeout: .unreachable
        case .pongTimeout: .lost
        case .subprotocolMismatch: .protocolViolation
        case .transport(let reason): FeedDisconnectReason.disconnectReason(of: reason)
        }
    }

    private static func disconnectReason(of reason: ConnectionCloseReason) -> WebSocketDisconnectReason {
        switch reason {
        case .invalidTarget: .notPrepared
        case .notResolved, .unreachable: .unreachable
        case .tlsFailed: .tlsFailed
        case .refused(let status): .refused(status: status)
        case .upgradeFailed, .protocolViolation: .protocolViolation
        case .closedByPeer(let code, _): .closed(code: code == .absent ? nil : code.number)
        // Closing with any other code answers a violation: a message too large, invalid UTF-8, or an unaccepted kind.
        case .closedLocally(let code, _):
            code == .normal || code == .goingAway ? .closed(code: code.number) : .protocolViolation
        case .lost, .stopped: .lost
        }
    }
}

/// How a feed's last connection ended, or why it failed, for programs that distinguish these cases.
package enum WebSocketDisconnectReason: Sendable, Hashable {
    /// A secret or file that the request needs is unavailable.
    case notPrepared
    /// The host name could not be resolved, or no address led to an open connection.
    case unreachable
    /// TLS failed: the certificate is not trusted or does not match the host.
    case tlsFailed
    /// The server answered with this HTTP status instead of an upgrade.
    case refused(status: Int)
    /// The server violated RFC 6455, sent an unaccepted message, or did not answer with a WebSocket.
    case protocolViolation
    /// The server closed with this code (RFC 6455, 7.4), or `nil` if its close frame had none.
    case closed(code: UInt16?)
    /// The connection broke or the server stopped responding, without a close frame.
    case lost
}
