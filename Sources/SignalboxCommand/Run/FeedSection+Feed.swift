import SignalboxCore
import WebSocketChat

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
