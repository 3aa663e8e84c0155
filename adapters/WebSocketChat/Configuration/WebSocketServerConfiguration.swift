public import SignalboxCore
public import SignalboxRoutes

/// The configuration of a chat server. ``WebSocketServer`` validates it.
///
/// Unless there are ``pages``, some client must be able to connect. That requires an origin, ``pagesHost``,
/// ``absentOrigin`` `allowed`, or `withToken` and a principal.
///
/// The `Host` header is not checked. A page that reaches ``pages`` or ``healthPath`` through its own name for this
/// address (DNS rebinding) can read nothing secret. Its scripts cannot connect: browsers send the page's own `Origin`.
public struct WebSocketServerConfiguration: Sendable, Hashable {
    /// The configured source that arrivals belong to.
    public var source: SourceName
    /// The numeric address to listen on, IPv6 without brackets; `::` is every address of the machine. The default
    /// `127.0.0.1` is reachable from this machine only.
    public var address = "127.0.0.1"
    /// The port; 0 lets the system choose one, which ``WebSocketServer/port()`` returns.
    public var port: UInt16
    /// The path that clients connect to, percent-decoded, at most 1,024 bytes; `/` by default. Upgrades at other paths
    /// are refused with 404. A page may have the same path; it is served to requests without an upgrade.
    public var path = "/"
    /// The server's certificate; `nil`, the default, disables TLS.
    public var identity: WebSocketIdentity?
    /// The origins whose pages may connect, at most 1,000; none by default. Scheme, host and port are compared in
    /// normal form. A request with another origin, `null`, an invalid origin or two origins is refused with 403.
    public var origins: [WebOrigin] = []
    /// The host in the URLs of this server's own ``pages``, such as `127.0.0.1`. Those pages may then connect too;
    /// their origin is ``identity``'s scheme, this host and the port. If `nil`, the default, they may connect only if
    /// ``origins`` contains their origin, which requires a known port.
    public var pagesHost: String?
    /// How to treat clients without an `Origin` header.
    public var absentOrigin = WebSocketAbsentOrigin.withToken
    /// The clients that may connect, up to 10,000 with distinct tokens. If empty, no token is required and no client
    /// has a principal.
    ///
    /// A token is sent as `Authorization: Bearer TOKEN` (RFC 6750, 2.1). Browsers cannot set that header; they offer
    /// the subprotocol `signalbox.bearer.TOKEN` with the token in base64url without padding (RFC 4648, 5). The server
    /// never agrees to a token, so the client must offer `signalbox` or one of ``subprotocols`` before it. Without one
    /// the request is refused with 400. All offers together have at most 126 bytes, which leaves 73 for the token. Of
    /// header, subprotocol and query only the first one present is checked. Wrong or missing tokens return 401.
    public var principals: [WebSocketPrincipal] = []
    /// Whether `?token=` is also accepted, although logs and proxies may record it; `false` by default. Logged as a
    /// warning once per run, and counted.
    public var queryTokens = false
    /// The supported subprotocols besides `signalbox`, at most 32 tokens that do not start with `signalbox.`; none by
    /// default. The server agrees to the first supported one that the client offers.
    public var subprotocols: [String] = []
    /// How frames are mapped to actions.
    public var frames = WebSocketFrames()
    /// The limits of one message. A larger message closes its connection with 1009.
    public var limits = MessageLimits()
    /// Whether to accept compression (RFC 7692); `false` by default. Costs about 100 KB per compressed connection.
    public var compression = false
    /// Whether to send the outcome of an action that has an id; `true` by default.
    public var answers = true
    /// Whether to submit `signalbox.connected` and `signalbox.closed`; `false` by default. While the source has no
    /// room, new clients are then refused with 503. Connections that end because the server stops are not announced.
    public var announcesConnections = false
    /// The maximum number of connections, 1 to 1,000,000; 1,000 by default. Further clients are refused with 503. Each
    /// connection may hold an incomplete message of up to ``limits`` in memory for ``messageTimeout``.
    public var connections = 1_000
    /// The maximum number of HTTP connections (``pages``, ``healthPath``), 1 to 1,000,000. An HTTP connection is one
    /// that has not upgraded. If `nil`, the default, a quarter of ``connections``, at least 32.
    ///
    /// At the limit, a new request evicts the connection that has been idle longest. If none is idle, it evicts one
    /// that is being answered, from an address with at least two more connections than its own. Otherwise the new
    /// connection is closed.
    ///
    /// Connections without a request count towards the total limit, the sum of ``connections`` and this. At that limit,
    /// or if descriptors run short, a new connection evicts the oldest one without a request. An address with more than
    /// four connections that could be evicted is the first to lose one.
    public var httpConnections: Int?
    /// The same for one address, 1 to ``httpConnections``; `nil`, the default: half of ``httpConnections``. Clients
    /// behind a proxy share one address. IPv6 addresses are grouped by /64, so that a /48 has 65,536 of these limits.
    public var httpConnectionsPerAddress: Int?
    /// The maximum number of requests per HTTP connection, 1 to 1,000,000; 100 by default. The last response closes it.
    public var httpRequests = 100
    /// The maximum lifetime of an HTTP connection, and maximum time to send a document, 1 s to 1 h; 30 s by default.
    ///
    /// A document may be requested until the lifetime ends, so a connection lasts at most twice as long. Responses in
    /// the second half of the lifetime have `Connection: close`. The wait between requests is limited to
    /// ``handshakeTimeout``.
    public var httpTimeout: Duration = .seconds(30)
    /// The maximum number of unsettled messages per connection, 1 to 10,000; 64 by default. At the limit, reading
    /// pauses until half are settled, so one connection cannot fill the source's window. A batch may exceed it.
    public var connectionWindow = 64
    /// The timeout of each step of opening, 1 s to 1 h in whole seconds; 10 s by default.
    public var handshakeTimeout: Duration = .seconds(10)
    /// The maximum time from a message's first piece to its last, 1 s to 1 h; 30 s by default. Exceeding it closes the
    /// connection with 1008. Paused time does not count. The check is up to a second late.
    public var messageTimeout: Duration = .seconds(30)
    /// The maximum time without a message, 1 s to 7 days. Exceeding it closes the connection with 1001. Paused time
    /// does not count, and the check is up to a second late. If `nil`, the default, a client only has to answer pings.
    public var idleTimeout: Duration?
    /// The period of silence after which a client is pinged, 1 s to 1 h in whole seconds; 30 s by default.
    public var pingAfter: Duration = .seconds(30)
    /// The period of silence, pings included, after which a client counts as lost: whole seconds, more than
    /// ``pingAfter`` and at most 2 h; 45 s by default.
    public var silenceLimit: Duration = .seconds(45)
    /// The maximum number of bytes waiting to be sent on one connection, 1 KiB to 1 GiB; 1 MiB by default. Exceeding it
    /// closes the connection with 1013.
    public var waitingBytes = 1_048_576
    /// The maximum number of bytes waiting on all connections, at least ``waitingBytes`` and at most 64 GiB; 64 MiB by
    /// default. Exceeding it closes the connection with the most waiting bytes with 1013.
    public var allWaitingBytes = 67_108_864
    /// The initial tags of every connection, of 1 to 128 bytes, at most ``tagsPerConnection``; none by default. They
    /// are set before the first message. A plugin that joins on `signalbox.connected` may run after it, because a
    /// message only waits for its own plugin.
    public var tags: Set<String> = []
    /// The maximum number of tags per connection, 1 to 1,000; 32 by default.
    public var tagsPerConnection = 32
    /// Documents by path, at most 100 with 16 MiB in total. Plugins cannot change them. They are public to every client
    /// that reaches the port. Other paths return 404, methods other than `GET` and `HEAD` 405.
    public var pages: [String: WebSocketPage] = [:]
    /// The path of the health check, which returns `{"status":"ok"}`; `/health` by default, `nil` for none.
    public var healthPath: String? = "/health"
    /// When the server stops, the time for clients to read waiting data and the close frame.
    var closeTimeout: Duration = .seconds(1)

    /// Creates the configuration of a server that only this machine can reach.
    public init(source: SourceName, port: UInt16) {
        self.source = source
        self.port = port
    }
}

/// How a server treats a client without an `Origin` header, which browsers always send.
public enum WebSocketAbsentOrigin: String, Sendable, Hashable, CaseIterable {
    /// The client needs a valid token. Without principals it is refused.
    case withToken
    /// The client is treated as if its origin were allowed. It still needs a token if there are principals.
    case allowed
    /// The client is refused.
    case refused
}

/// A client that may connect, identified by a token.
public struct WebSocketPrincipal: Sendable, Hashable {
    /// The name for access rules, facts and logs: 1 to 128 bytes without control characters.
    public let name: String
    /// The token, at least 16 bytes, read when a run starts.
    public let token: Secret

    /// Creates a principal, which is validated with its configuration.
    public init(_ name: String, token: Secret) {
        self.name = name
        self.token = token
    }
}

extension WebSocketServerConfiguration {
    /// Returns the origin of the server's own pages on its port; `nil` if ``pagesHost`` does not admit them.
    func pagesOrigin(port: UInt16) -> WebOrigin? {
        guard let pagesHost else { return nil }
        return try? WebOrigin("\(identity == nil ? "http" : "https")://\(pagesHost):\(port)")
    }

    /// The transport's settings.
    var endpoint: ServerEndpoint {
        var endpoint = ServerEndpoint()
        // A `nil` address listens on both families.
        endpoint.address = address == "::" ? nil : address
        endpoint.port = port
        endpoint.identity = identity
        endpoint.subprotocols = subprotocols.filter { $0 != BearerToken.companion } + [BearerToken.companion]
        endpoint.compresses = compression
        endpoint.pages = allPages
        endpoint.http = httpLimits
        return endpoint
    }

    /// The limits for HTTP connections, with defaults for values that are `nil`.
    var httpLimits: HTTPLimits {
        var limits = HTTPLimits()
        limits.connections = httpConnections ?? max(32, connections / 4)
        limits.connectionsPerAddress = httpConnectionsPerAddress ?? max(1, limits.connections / 2)
        limits.sockets = connections + limits.connections
        limits.requests = httpRequests
        limits.lifetime = httpTimeout
        return limits
    }

    var transportLimits: TransportLimits {
        var limits = TransportLimits()
        limits.waitingBytes = waitingBytes
        limits.allWaitingBytes = allWaitingBytes
        limits.pingAfter = UInt16(clamping: pingAfter.components.seconds)
        limits.cutAfter = UInt16(clamping: silenceLimit.components.seconds)
        limits.connectWithin = UInt32(clamping: handshakeTimeout.components.seconds)
        return limits
    }
}
