import SignalboxCore
import WebSocketChat

/// What `connect` was asked for, checked.
struct ConnectRequest: Sendable {
    static let source: SourceName = "connection"
    static let action: ActionName = "message"
    /// The most bytes of a message, where no configuration says another; a larger one closes the connection.
    static let limits = MessageLimits(bytes: 16 << 20)
    /// How long a message may wait for a reader of stdout that pauses.
    static let patience: Duration = .seconds(3_600)

    /// The server; `nil` where the configuration names it.
    let url: WebSocketURL?
    /// What the options say of the connection.
    let options: ConnectOptions
    /// The configuration whose plugins are called.
    let config: String?
    /// Which feed of it this is.
    let source: String?
    let count: Int?
    let timeout: Duration?
    let raw: RawOutput?
    let outgoing: OutgoingRequest

    /// Whether it was said when the request is fulfilled; else any end is in order.
    var hasNeed: Bool { count != nil || timeout != nil }
    /// How many messages make the request fulfilled.
    var needed: Int { count ?? 1 }

    /// The connection where there is no configuration: each message is one action, whatever it says.
    func plainFeed(to url: WebSocketURL) -> FeedSection {
        var feed = FeedSection(url: url)
        feed.frames = WebSocketFrames(text: .action(ConnectRequest.action, .text), binary: ConnectRequest.action)
        feed.reconnect = nil
        // A line may be as long as a message.
        feed.waitingBytes = ConnectRequest.limits.bytes * 2
        options.apply(to: &feed)
        return feed
    }

    /// The connection of a configuration's feed, as the options change it. It is made again only where that was asked for.
    func configuredFeed(_ section: FeedSection) -> FeedSection {
        var feed = section
        if let url { feed.url = url }
        let waits = feed.reconnect
        feed.reconnect = nil
        options.apply(to: &feed)
        if feed.reconnect != nil { feed.reconnect = waits ?? feed.reconnect }
        return feed
    }
}
