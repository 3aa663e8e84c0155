/// Why a connection is no more, or why there was none. Texts are for people, of at most ``textLimit`` bytes.
enum ConnectionEnd: Equatable, Sendable {
    /// What was asked for cannot be put into a request.
    case unusable(String)
    /// The address could not be resolved.
    case notResolved(String)
    /// No connection to the address.
    case notConnected(String)
    /// The connection could not be secured: a certificate is not trusted, not for this host, or TLS failed.
    case notSecured(String)
    /// The server answered with this HTTP status instead of the upgrade.
    case refused(status: Int)
    /// The server's answer was no upgrade that can be used.
    case noUpgrade(String)
    /// The peer closed with this code, ``CloseCode/absent`` where it gave none.
    case closedByPeer(CloseCode, reason: String)
    /// We closed with this code.
    case closedHere(CloseCode, reason: String)
    /// The peer sent what RFC 6455 forbids (1002) or text that is not UTF-8 (1007), and was told so. On the client's side
    /// the library mostly does not say so; then it is ``lost``.
    case brokeProtocol(CloseCode)
    /// It broke, or the peer gave no sign of life, without a close frame.
    case lost
    /// The service was stopped.
    case stopped

    static let textLimit = 256
}
