/// What both sides agreed on when the connection opened.
struct Handshake: Equatable, Sendable {
    /// The subprotocol of the connection, if one was agreed on.
    var subprotocol: String?
    /// Whether messages may be compressed (RFC 7692).
    var isCompressed = false
    /// What the client asked for; on the server's side only.
    var request: UpgradeRequest?
}
