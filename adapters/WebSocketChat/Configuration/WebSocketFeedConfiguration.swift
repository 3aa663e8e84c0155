public import SignalboxCore

/// Everything a feed is told. ``WebSocketFeed`` validates it.
public struct WebSocketFeedConfiguration: Sendable {
    /// The configured source whose arrivals these are.
    public var source: SourceName
    /// The server.
    public var url: WebSocketURL
    /// The subprotocols that are offered, in order of preference: at most 32 tokens that differ, of together 1,024 bytes;
    /// none by default. Where there are any the server must agree to one: a connection without is given up, as browsers do.
    public var subprotocols: [String] = []
    /// The header `Origin`, 1 to 117 bytes without spaces; none by default.
    public var origin: String?
    /// Further headers of the request, at most 32, whose names differ.
    public var headers: [WebSocketHeader] = []
    /// A token for `Authorization: Bearer`, read anew for each connection; none by default.
    public var bearer: Secret?
    /// Whose certificates are believed; only for `wss://`.
    public var trust = WebSocketTrust.system
    /// A certificate of the client's own; only for `wss://`; none by default.
    public var identity: WebSocketIdentity?
    /// Texts sent after each connection is made, in order and before anything else, such as a subscription; at most 100,
    /// which fit into ``waitingBytes`` together.
    public var openingMessages: [String] = []
    /// How frames become actions.
    public var frames = WebSocketFrames()
    /// The bounds of one message. One that is larger closes the connection with 1009.
    public var limits = MessageLimits()
    /// Whether compression is offered (RFC 7692), which the server may decline; `false` by default. A connection that uses it costs about 100 KB.
    public var compression = false
    /// Whether an action that has an id is answered with its outcome; `false` by default, as servers of feeds mostly do not
    /// ask for it.
    public var answers = false
    /// Whether `signalbox.connected` and `signalbox.closed` are submitted; `false` by default.
    public var announcesConnections = false
    /// The waits between connections; `nil`: there is no second connection, and the run ends with the first. It returns
    /// when either side closed with 1000 or 1001, and throws `ended` otherwise, or `notConnected` when there was none.
    public var reconnect: WebSocketReconnect? = WebSocketReconnect()
    /// Whether a run throws `notConnected` when its first connection fails; `false` by default.
    public var firstConnectionMustSucceed = false
    /// How long each step of connecting may take, 1 to 60 s; 10 s by default. Steps are: reading secrets and resolving the
    /// name, and then, for each address in turn, everything up to the server's answer.
    public var connectTimeout: Duration = .seconds(10)
    /// After how much silence the server is pinged, 1 s to 1 h; 30 s by default. `nil`: never, so that a server that is gone
    /// without a word is noticed late or not at all.
    public var pingAfter: Duration? = .seconds(30)
    /// How long the answer to a ping may take before the connection counts as dead, 1 s to 1 h, looked at about every half
    /// second; 10 s by default. Any message counts as an answer; time in which reading is paused does not count.
    public var pongWithin: Duration = .seconds(10)
    /// How many bytes may wait to be sent, 1 KiB to 1 GiB, of which each message takes 64 more than its own; 1 MiB by
    /// default. What is beyond is refused as `full`.
    public var waitingBytes = 1_048_576

    /// A feed that reconnects for ever.
    public init(source: SourceName, url: WebSocketURL) {
        self.source = source
        self.url = url
    }
}
