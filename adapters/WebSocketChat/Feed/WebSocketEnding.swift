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
