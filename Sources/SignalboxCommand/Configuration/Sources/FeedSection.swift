import SignalboxCore
import WebSocketChat

/// The `feed` part of a source. A setting that is missing has the feed's default.
struct FeedSection: Sendable, Hashable {
    /// The server's URL.
    var url: WebSocketURL
    /// The subprotocols to offer, in order of preference.
    var subprotocols: [String] = []
    /// The `Origin` header.
    var origin: String?
    /// Further headers of the request.
    var headers: [WebSocketHeader] = []
    /// A reference to the token for `Authorization: Bearer`.
    var bearer: Secret?
    /// The certificates that the feed trusts.
    var trust = WebSocketTrust.system
    /// The client certificate.
    var identity: WebSocketIdentity?
    /// Texts to send after each connection opens.
    var openingMessages: [String] = []
    /// The mapping of frames to actions.
    var frames = WebSocketFrames()
    /// Whether the feed offers compression.
    var compression = false
    /// Whether the feed replies with the outcome of an action that has an id.
    var answers = false
    /// Whether the opening and closing of connections are submitted as actions.
    var announcesConnections = false
    /// The delays between connections; `nil` for no reconnection.
    var reconnect: WebSocketReconnect? = WebSocketReconnect()
    /// The time limit of each step of connecting.
    var connectTimeout: Duration?
    /// The silence after which the server is pinged.
    var ping = PingSection.standard
    /// The time limit of the reply to a ping.
    var pongWithin: Duration?
    /// The maximum number of unsent bytes.
    var waitingBytes: Int?
}

/// The silence after which a peer is pinged.
enum PingSection: Sendable, Hashable {
    /// The adapter's default.
    case standard
    /// A fixed duration.
    case after(Duration)
    case never
}

extension FeedSection {
    /// Returns the adapter's configuration of this source.
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

    /// Checks with the adapter's own rules that the settings are consistent.
    func validate(as source: SourceName) throws(WebSocketChatError) {
        try feed(from: source, limits: MessageLimits()).validate()
    }
}
