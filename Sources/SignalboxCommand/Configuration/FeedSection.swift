import SignalboxCore
import WebSocketChat

/// The `feed` part of a source. What is not said has the feed's own default.
struct FeedSection: Sendable, Hashable {
    /// The server.
    var url: WebSocketURL
    /// What is offered, in order of preference.
    var subprotocols: [String] = []
    /// The header `Origin`.
    var origin: String?
    /// Further headers of the request.
    var headers: [WebSocketHeader] = []
    /// Where the token for `Authorization: Bearer` is kept.
    var bearer: Secret?
    /// Whose certificates are believed.
    var trust = WebSocketTrust.system
    /// A certificate of the client's own.
    var identity: WebSocketIdentity?
    /// Texts sent after each connection is made.
    var openingMessages: [String] = []
    /// How frames become actions.
    var frames = WebSocketFrames()
    /// Whether compression is offered.
    var compression = false
    /// Whether an action that has an id is answered with its outcome.
    var answers = false
    /// Whether connections and their ends are actions too.
    var announcesConnections = false
    /// The waits between connections; `nil`: there is no second one.
    var reconnect: WebSocketReconnect? = WebSocketReconnect()
    /// How long each step of connecting may take.
    var connectTimeout: Duration?
    /// After how much silence the server is pinged.
    var ping = PingSection.standard
    /// How long the answer to a ping may take.
    var pongWithin: Duration?
    /// How many bytes may wait to be sent.
    var waitingBytes: Int?
}
