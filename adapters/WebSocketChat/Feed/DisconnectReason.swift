import AdapterSupport

/// Why a connection, or an attempt to connect, ended.
///
/// Texts that come from a transport are at most ``textLimit`` bytes long.
enum DisconnectReason: Error, Equatable {
    /// The target cannot be expressed as a request.
    case invalidTarget(String)
    /// A secret could not be read, or is not a valid header value. The text names the secret and the reason. Only feeds
    /// report this.
    case secretUnavailable(String)
    /// The host name could not be resolved, for the given reason.
    case notResolved(String)
    /// Reading secrets and resolving the name took longer than this limit. Only feeds report this.
    case lookupTimeout(Duration)
    /// The proxy gave no connection to the server. Only feeds report this.
    case proxyFailed(ProxyFailure)
    /// The address could not be reached.
    case unreachable(String)
    /// Connecting to an address took longer than this limit. Only feeds report this.
    case connectTimeout(Duration)
    /// TLS failed. For example, the certificate is not trusted or does not match the host.
    case tlsFailed(String)
    /// The server answered with this HTTP status instead of the upgrade.
    case refused(status: Int)
    /// The server's answer was not a usable upgrade.
    case upgradeFailed(String)
    /// The server agreed to this subprotocol, which was not offered, or to none of those offered (`nil`). Only feeds
    /// report this.
    case subprotocolMismatch(String?)
    /// The peer closed the connection with this code, or with ``CloseCode/absent`` if its close frame had none.
    case closedByPeer(CloseCode, reason: String)
    /// This side closed the connection with this code.
    case closedLocally(CloseCode, reason: String)
    /// The peer violated RFC 6455 (1002), or sent text that is not UTF-8 or data that cannot be inflated (1007), so its
    /// connection was closed with that
    /// code.
    case protocolViolation(CloseCode)
    /// The server sent nothing after a ping. Only feeds report this.
    case pongTimeout
    /// The connection broke or the peer stopped responding, without a close frame.
    case lost
    /// The service was stopped.
    case stopped

    static let textLimit = 256
    /// TLS failed without an alert: the server closed the connection, or sent something else.
    static let handshakeEnded = DisconnectReason.tlsFailed("the server ended the TLS handshake, or does not speak TLS")

    /// Whether the connection would probably fail again in the same way, which makes it pointless to retry soon.
    var isConfigurationError: Bool {
        switch self {
        case .invalidTarget, .secretUnavailable, .tlsFailed, .subprotocolMismatch: true
        case .proxyFailed(let failure): failure.isConfigurationError
        case .refused(300..<400), .refused(400), .refused(401), .refused(403), .refused(404), .refused(405),
            .refused(407), .refused(410), .refused(426):
            true
        default: false
        }
    }

    /// Whether a different address of the host might work.
    var isAddressSpecific: Bool {
        switch self {
        case .unreachable, .connectTimeout, .lost: true
        default: false
        }
    }

    /// Whether either side closed the connection normally.
    var isNormalClose: Bool {
        switch self {
        case .closedByPeer(let code, _), .closedLocally(let code, _): code == .normal || code == .goingAway
        default: false
        }
    }

    /// The close code, if known, and the reason as text, for the body of ``ActionName/chatClosed``.
    var closeFacts: (code: CloseCode?, reason: String) {
        switch self {
        case .closedByPeer(.absent, let reason): (nil, reason)
        case .closedByPeer(let code, let reason), .closedLocally(let code, let reason): (code, reason)
        case .protocolViolation(let code): (code, "the peer violated the protocol")
        case .stopped: (nil, "the source stopped")
        case .invalidTarget(let text), .notResolved(let text), .unreachable(let text), .tlsFailed(let text),
            .upgradeFailed(let text):
            (nil, text)
        case .refused(let status): (nil, "refused with \(status)")
        case .lost, .pongTimeout, .secretUnavailable, .lookupTimeout, .proxyFailed, .connectTimeout,
            .subprotocolMismatch:
            (nil, "the connection broke")
        }
    }
}

extension DisconnectReason {
    /// The kind under which the log reports the reason, at most once a minute per kind, and the reason as other modules
    /// see it.
    var classification: (kind: String, disconnectReason: WebSocketDisconnectReason) {
        switch self {
        case .invalidTarget: ("target", .notPrepared)
        case .secretUnavailable: ("secret", .notPrepared)
        case .notResolved, .lookupTimeout: ("lookup", .unreachable)
        case .proxyFailed(let failure): ("proxy \(failure.kind)", failure.isRefusal ? .proxyRefused : .unreachable)
        case .unreachable: ("unreachable", .unreachable)
        case .connectTimeout: ("slow", .unreachable)
        case .tlsFailed: ("tlsFailed", .tlsFailed)
        case .refused(let status): ("refused \(status)", .refused(status: status))
        case .upgradeFailed: ("upgradeFailed", .protocolViolation)
        case .subprotocolMismatch: ("subprotocol", .protocolViolation)
        case .closedByPeer(let code, _): ("closed \(code.number)", .closed(code: code == .absent ? nil : code.number))
        case .closedLocally(let code, _) where isNormalClose:
            ("closed locally \(code.number)", .closed(code: code.number))
        // Any other code means that the peer violated a rule: a message was too large, was not UTF-8, or was of a kind
        // that is not accepted.
        case .closedLocally(let code, _): ("closed locally \(code.number)", .protocolViolation)
        case .protocolViolation: ("protocol", .protocolViolation)
        case .pongTimeout: ("ping", .lost)
        case .lost, .stopped: ("lost", .lost)
        }
    }

    /// Returns a sentence that names the server and states what happened and, if there is one, the remedy.
    ///
    /// The only texts from the peer in the sentence are the reason in its close frame and a subprotocol that was not
    /// offered, both in quotes.
    func sentence(about configuration: WebSocketFeedConfiguration) -> String {
        let url = configuration.url
        let text = { (remedy: FeedRemedy) in configuration.remedies[remedy] ?? remedy.text }
        return switch self {
        case .invalidTarget(let reason): "cannot create a request for \(url): \(reason)"
        case .secretUnavailable(let reason): "cannot connect to \(url): \(reason)"
        case .notResolved(let reason): "cannot resolve the host of \(url): \(reason)"
        case .lookupTimeout(let limit):
            "secrets and the address of \(url) were not available within \(limit.secondsDescription): "
                + "check the name server"
        case .proxyFailed(let failure): configuration.sentence(about: failure, login: text(.proxyLogin))
        case .unreachable(let reason): "cannot reach \(url): \(reason)"
        case .connectTimeout(let limit): "\(url) did not open the connection within \(limit.secondsDescription)"
        case .tlsFailed(let reason):
            "cannot secure the connection to \(url): \(reason). \(text(.authority)), and that the server's "
                + "certificate is for this host"
        case .refused(let status):
            "\(url) refused the connection: status \(status)"
                + DisconnectReason.advice(status, configuration.credentials, text)
        case .upgradeFailed(let reason): "\(url) did not accept the WebSocket upgrade: \(reason)"
        case .subprotocolMismatch(let answered?):
            "\(url) selected the subprotocol \(answered.debugDescription), which was not offered"
        case .subprotocolMismatch(nil):
            "\(url) selected none of the offered subprotocols: offer those it supports, or none"
        case .closedByPeer(.absent, _): "\(url) closed the connection without a status code"
        case .closedByPeer(let code, let reason): "\(url) closed the connection: \(code.number)\(quoted(reason))"
        case .closedLocally(let code, let reason):
            "closed the connection to \(url): \(code.number)\(quoted(reason))"
        case .protocolViolation(let code): "\(url) violated RFC 6455; the connection was closed with \(code.number)"
        case .pongTimeout: "\(url) did not answer a ping; the connection was closed"
        case .lost, .stopped: "connection to \(url) lost"
        }
    }

    private func quoted(_ reason: String) -> String {
        reason.isEmpty ? "" : " \(UntrustedText.quoted(reason))"
    }

    private static func advice(
        _ status: Int,
        _ credentials: FeedCredentials,
        _ text: (FeedRemedy) -> String
    ) -> String {
        switch status {
        case 300..<400: ". Redirects are not followed: use the target URL"
        case 401: ". \(text(credentials.remedy))"
        case 403: ". \(text(.origin)), and \(credentials.limit)"
        case 404, 410: ". Check the path"
        case 400, 405, 426: ". \(text(.headers)), and that the server supports WebSocket version 13"
        case 407: ". A proxy in front of the server requires a login, which is only sent to the feed's own proxy"
        default: ""
        }
    }
}

/// How a feed proves to the server who it is.
private enum FeedCredentials {
    case login, token, none

    /// What to do if the server does not accept them.
    var remedy: FeedRemedy {
        switch self {
        case .login: .login
        case .token: .token
        case .none: .missingLogin
        }
    }

    /// Why the server may deny access nevertheless, after "check".
    var limit: String {
        switch self {
        case .login: "what the user may do"
        case .token: "what the token may do"
        case .none: "whether the server requires a token or a login"
        }
    }
}

extension WebSocketFeedConfiguration {
    fileprivate var credentials: FeedCredentials {
        if login != nil { return .login }
        let hasToken = bearer != nil || headers.contains { $0.name.lowercased() == "authorization" }
        return hasToken ? .token : .none
    }

    /// What follows the server in a log line: the Unix socket or the proxy, if there is one.
    var route: String {
        unixSocket.map { ", Unix socket \($0)" } ?? proxy.map { " through the proxy \($0)" } ?? ""
    }

    /// Returns a sentence about a failure of the feed's proxy.
    fileprivate func sentence(about failure: ProxyFailure, login: String) -> String {
        guard let proxy else { return "cannot reach \(url)" }
        let destination = ProxyDestination(host: url.hostName, port: url.port)
        return failure.sentence(about: proxy.server, to: destination, login: login)
    }
}

/// What an operator can do about a connection that failed. A program can replace the texts, so that they name its
/// options.
package enum FeedRemedy: Sendable, Hashable {
    case authority, token, login, missingLogin, origin, headers
    /// Names the settings of the login for the proxy. The others are the beginning of a sentence.
    case proxyLogin

    /// The text for a feed whose settings are in a configuration.
    var text: String {
        switch self {
        case .authority: "Check the trusted authorities"
        case .token: "Check the bearer token"
        case .login: "Check the user name and password"
        case .missingLogin: "Set a bearer token, or a user name and a password"
        case .origin: "Check the origin"
        case .headers: "Check path and headers"
        case .proxyLogin: "the user name and the password of the proxy"
        }
    }
}

/// How a feed's last connection ended or failed, for programs that distinguish these cases.
package enum WebSocketDisconnectReason: Sendable, Hashable {
    /// A secret or file needed for the request is unavailable.
    case notPrepared
    /// The host name could not be resolved, or a connection could not be opened to any of its addresses.
    case unreachable
    /// The proxy refused the login, or denies a connection to this server.
    case proxyRefused
    /// TLS failed. For example, the certificate is not trusted or does not match the host.
    case tlsFailed
    /// The server answered with this HTTP status instead of an upgrade.
    case refused(status: Int)
    /// The server violated RFC 6455, sent a message of a kind that is not accepted, or did not answer as a WebSocket
    /// server.
    case protocolViolation
    /// The server closed the connection with this code (RFC 6455, 7.4), or with a close frame that had no code (`nil`).
    case closed(code: UInt16?)
    /// The connection broke or the server stopped responding, without a close frame.
    case lost
}
