import AdapterThreads

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
