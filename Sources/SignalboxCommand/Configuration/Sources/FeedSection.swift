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

/// When a silent peer is pinged.
enum PingSection: Sendable, Hashable {
    /// As the adapter does by default.
    case standard
    /// After so much silence.
    case after(Duration)
    case never
}

extension FeedSection {
    /// The source as its adapter wants it.
    func feed(from source: SourceName, limits: MessageLimits) -> WebSocketFeedConfiguration {
        var feed = WebSocketFeedConfiguration(source: source, url: url)
        feed.subprotocols = subprotocols
        feed.origin = origin
        feed.headers = headers
        feed.bearer = bearer
        feed.trust = trust
        feed.identity = identity
        feed.openingMessages = openingMessages
        feed.frames = frames
        feed.limits = limits
        feed.compression = compression
        feed.answers = answers
        feed.announcesConnections = announcesConnections
        feed.reconnect = reconnect
        feed.connectTimeout = connectTimeout ?? feed.connectTimeout
        switch ping {
        case .standard: break
        case .after(let silence): feed.pingAfter = silence
        case .never: feed.pingAfter = nil
        }
        feed.pongWithin = pongWithin ?? feed.pongWithin
        feed.waitingBytes = waitingBytes ?? feed.waitingBytes
        return feed
    }

    /// What the adapter alone knows about values that do not go together.
    func validate(as source: SourceName) throws(WebSocketChatError) {
        try feed(from: source, limits: MessageLimits()).validate()
    }
}
