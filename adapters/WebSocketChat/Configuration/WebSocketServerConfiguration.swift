public import SignalboxCore
public import SignalboxRoutes

/// The configuration of a chat server.
///
/// Unless there are ``pages``, the configuration must allow some client to connect. For browsers, set ``origins`` or
/// ``pagesHost``. For clients without an origin, add ``principals``, or set ``absentOrigin`` to `allowed`.
/// ``WebSocketServer`` validates the configuration when it is created.
///
/// The server does not check the `Host` header. A page that reaches ``pages`` or ``healthPath`` through a name of its
/// site for this address (DNS rebinding) can read nothing secret. The scripts of such a page cannot connect, because
/// browsers send the true origin of the page.
public struct WebSocketServerConfiguration: Sendable, Hashable {
    /// The source that the arrivals belong to.
    public var source: SourceName
    /// The numeric address to listen on, with IPv6 addresses written without brackets.
    ///
    /// The default `127.0.0.1` is reachable from this machine only, and `::` is every address of the machine.
    public var address = "127.0.0.1"
    /// The port to listen on. If it is 0, the system chooses the port, which ``WebSocketServer/port()`` returns.
    public var port: UInt16
    /// The path that clients connect to, percent-decoded, with at most 1,024 bytes. The default is `/`.
    ///
    /// The server refuses upgrades at other paths with 404. A page may have the same path, because the server serves it
    /// only to requests without an upgrade.
    public var path = "/"
    /// The certificate of the server, or `nil` (the default) to disable TLS.
    public var identity: WebSocketIdentity?
    /// The origins whose pages may connect, at most 1,000. The default is to allow none.
    ///
    /// The server compares scheme, host and port in normal form. It refuses a request with 403 if the request has
    /// another origin, `null`, an invalid origin or two origins.
    public var origins: [WebOrigin] = []
    /// The host in the URLs of the server's own ``pages``, such as `127.0.0.1`, if those pages may connect too.
    ///
    /// The origin of the pages consists of the scheme that follows from ``identity``, this host and the port. If the
    /// host is `nil`, which is the default, the pages may connect only if ``origins`` contains their origin, and that
    /// requires a known port.
    public var pagesHost: String?
    /// How to treat clients without an `Origin` header. By default, they need a token.
    public var absentOrigin = WebSocketAbsentOrigin.withToken
    /// The clients that may connect, at most 10,000 with distinct tokens.
    ///
    /// If the list is empty, which is the default, the server requires no token and no client has a principal.
    ///
    /// A client sends its token as `Authorization: Bearer TOKEN` (RFC 6750, 2.1). Browsers cannot set that header, so
    /// their pages offer the subprotocol `signalbox.bearer.TOKEN`, with the token in base64url without padding (RFC
    /// 4648, 5). The server never agrees to a subprotocol that contains a token. The client must therefore offer
    /// `signalbox` or one of ``subprotocols`` before it, or the server refuses the request with 400. All offers
    /// together have at most 126 bytes, which leaves 73 for the token.
    ///
    /// The server looks for a token in the header, then in the subprotocols and then in the query, and checks only the
    /// first one that it finds. It refuses requests with a wrong or missing token with 401.
    public var principals: [WebSocketPrincipal] = []
    /// Whether the server also accepts a token as `?token=` in the URL. The default is `false`, because logs and
    /// proxies may record the URL.
    ///
    /// The server logs a warning about this setting at each run, and counts the connections that use it.
    public var queryTokens = false
    /// The supported subprotocols besides `signalbox`. The default is to support no others.
    ///
    /// The list may contain at most 32 tokens, none of which starts with `signalbox.`. The server agrees to the first
    /// supported subprotocol that the client offers.
    public var subprotocols: [String] = []
    /// How frames are mapped to actions.
    public var frames = WebSocketFrames()
    /// The limits of one message. The server closes a connection with 1009 if one of its messages exceeds them.
    public var limits = MessageLimits()
    /// Whether to accept compression (RFC 7692). The default is `false`, because each compressed connection costs about
    /// 100 KB.
    public var compression = false
    /// Whether to send the outcome of an action that has an id. The default is `true`.
    public var answers = true
    /// Whether to submit `signalbox.connected` and `signalbox.closed`. The default is `false`.
    ///
    /// If this is set, the server refuses new clients with 503 while the source has no room for the announcement. It
    /// does not announce connections that end because the server stops.
    public var announcesConnections = false
    /// The maximum number of connections, 1 to 1,000,000. The default is 1,000.
    ///
    /// The server refuses further clients with 503. Each connection may hold an incomplete message of up to ``limits``
    /// in memory for ``messageTimeout``.
    public var connections = 1_000
    /// The maximum number of HTTP connections, 1 to 1,000,000. If it is `nil`, which is the default, the maximum is a
    /// quarter of ``connections``, but at least 32.
    ///
    /// An HTTP connection is one that has not upgraded, such as a connection for ``pages`` or ``healthPath``. At the
    /// limit, a new request evicts the connection that has been idle longest. If none is idle, it evicts one that is
    /// being answered, provided that this one belongs to an address with at least two more connections than the address
    /// of the request. Otherwise the server closes the connection of the new request.
    ///
    /// Connections that have not made a request count only towards the total limit, which is the sum of ``connections``
    /// and this limit. At the total limit, or when descriptors run short, a new connection evicts the oldest one without
    /// a request, or the oldest idle one if all have made requests. If an address has more than four connections that
    /// could be evicted, the busiest such address is the first to lose one.
    public var httpConnections: Int?
    /// The maximum number of HTTP connections from one address, 1 to ``httpConnections``. If it is `nil`, which is the
    /// default, the maximum is half of ``httpConnections``.
    ///
    /// Clients behind a proxy share one address. IPv6 addresses are grouped by /64, so a /48 has 65,536 of these
    /// limits.
    public var httpConnectionsPerAddress: Int?
    /// The maximum number of requests per HTTP connection, 1 to 1,000,000. The default is 100. The server closes the
    /// connection after the last response.
    public var httpRequests = 100
    /// The maximum lifetime of an HTTP connection, and the maximum time to send a document, 1 s to 1 h. The default is
    /// 30 s.
    ///
    /// A client may request a document until the lifetime ends, so a connection lasts at most twice as long. Responses
    /// in the second half of the lifetime have `Connection: close`. The time between two requests is limited to
    /// ``handshakeTimeout``.
    public var httpTimeout: Duration = .seconds(30)
    /// The maximum number of unsettled messages per connection, 1 to 10,000. The default is 64.
    ///
    /// At the limit, the server stops reading from the connection until half of its messages are settled, so that one
    /// connection cannot fill the window of the source. A batch may exceed the limit.
    public var connectionWindow = 64
    /// The timeout of each step of opening a connection, 1 s to 1 h in whole seconds. The default is 10 s.
    public var handshakeTimeout: Duration = .seconds(10)
    /// The maximum time from the first piece of a message to its last, 1 s to 1 h. The default is 30 s.
    ///
    /// The server closes a connection that exceeds the time with 1008. Time during which reading is paused does not
    /// count, and the check may be up to a second late.
    public var messageTimeout: Duration = .seconds(30)
    /// The maximum time without a message, 1 s to 7 days. If it is `nil`, which is the default, a client only has to
    /// answer pings.
    ///
    /// The server closes a connection that exceeds the time with 1001. Time during which reading is paused does not
    /// count, and the check may be up to a second late.
    public var idleTimeout: Duration?
    /// The period of silence after which the server pings a client, 1 s to 1 h in whole seconds. The default is 30 s.
    public var pingAfter: Duration = .seconds(30)
    /// The period of silence, pings included, after which a client counts as lost. The default is 45 s.
    ///
    /// The value must be in whole seconds, more than ``pingAfter`` and at most 2 h.
    public var silenceLimit: Duration = .seconds(45)
    /// The maximum number of bytes waiting to be sent on one connection, 1 KiB to 1 GiB. The default is 1 MiB.
    ///
    /// The server closes a connection that exceeds the limit with 1013.
    public var waitingBytes = 1_048_576
    /// The maximum number of bytes waiting on all connections, at least ``waitingBytes`` and at most 64 GiB. The
    /// default is 64 MiB.
    ///
    /// If a message exceeds the limit, the server closes the connection with the most waiting bytes with 1013.
    public var allWaitingBytes = 67_108_864
    /// The initial tags of every connection. The default is to set none.
    ///
    /// Each tag has 1 to 128 bytes, and there may be at most ``tagsPerConnection``. The server sets these tags before
    /// the first message arrives. A plugin that adds a tag on `signalbox.connected` may run after the first message,
    /// because a message only waits for its own plugin.
    public var tags: Set<String> = []
    /// The maximum number of tags per connection, 1 to 1,000. The default is 32.
    public var tagsPerConnection = 32
    /// The documents to serve, by path. There may be at most 100, with 16 MiB in total.
    ///
    /// The documents are public to every client that reaches the port, and plugins cannot change them. Other paths
    /// return 404, and methods other than `GET` and `HEAD` return 405.
    public var pages: [String: WebSocketPage] = [:]
    /// The path of the health check, which returns `{"status":"ok"}`, or `nil` for none. The default is `/health`.
    public var healthPath: String? = "/health"
    /// The time that clients have to read waiting data and the close frame when the server stops.
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
    /// The client is treated as if its origin were allowed. It still needs a token if the server has principals.
    case allowed
    /// The client is refused.
    case refused
}

/// A client that may connect, and the token that identifies it.
public struct WebSocketPrincipal: Sendable, Hashable {
    /// The name for access rules, facts and logs. It has 1 to 128 bytes without control characters.
    public let name: String
    /// The token, of at least 16 bytes. The server reads it when a run starts.
    public let token: Secret

    /// Creates a principal. It is validated together with the configuration that contains it.
    public init(_ name: String, token: Secret) {
        self.name = name
        self.token = token
    }
}

extension WebSocketServerConfiguration {
    /// Returns the origin of the server's own pages on its port, or `nil` if ``pagesHost`` does not admit them.
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
