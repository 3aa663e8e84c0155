/// The numbers and times of a `chat` source. What is `nil` has the server's own default.
struct ChatBounds: Sendable, Hashable {
    /// How many connections there may be.
    var connections: Int?
    /// The maximum number of HTTP connections.
    var httpConnections: Int?
    /// The maximum number of HTTP connections from one address.
    var httpConnectionsPerAddress: Int?
    /// The maximum number of requests on one HTTP connection.
    var httpRequests: Int?
    /// How long an HTTP connection may last.
    var httpTimeout: Duration?
    /// How many messages of one connection may be without an outcome.
    var connectionWindow: Int?
    /// How long each step of opening may take.
    var handshakeTimeout: Duration?
    /// How long a message may take from its first piece to its last.
    var messageTimeout: Duration?
    /// How long a connection may send no message.
    var idleTimeout: Duration?
    /// After how much silence a client is pinged.
    var pingAfter: Duration?
    /// After how much silence a client counts as dead.
    var silenceLimit: Duration?
    /// How many bytes may wait to be sent on one connection.
    var waitingBytes: Int?
    /// How many bytes may wait to be sent on all connections.
    var allWaitingBytes: Int?
    /// How many tags one connection may have.
    var tagsPerConnection: Int?
}
