public import SignalboxCore
public import SignalboxRoutes

/// The configuration of a chat server.
///
/// The configuration must allow some clients to connect, unless the server has ``pages``. For browsers, set ``origins``
/// or ``pagesHost``. For clients that send no origin, add ``principals``, or set ``absentOrigin`` to `allowed`.
/// ``WebSocketServer`` validates the configuration when it is created.
///
/// The server does not check the `Host` header. Through DNS rebinding, a page of another site can therefore read
/// ``pages`` and ``healthPath`` under that site's host name, but they contain nothing secret. Scripts in such a page
/// cannot connect, because browsers send the page's true origin.
public struct WebSocketServerConfiguration: Sendable, Hashable {
    /// The source that arrivals from the server belong to.
    public var source: SourceName
    /// The numeric address to listen on. Write IPv6 addresses without brackets.
    ///
    /// The default, `127.0.0.1`, is reachable only from this machine. `::` stands for every address of the machine.
    public var address = "127.0.0.1"
    /// The port to listen on. If it is 0, the system chooses a port, which ``WebSocketServer/port()`` returns.
    public var port: UInt16
    /// The path that clients connect to, percent-decoded and at most 1,024 bytes long. The default is `/`.
    ///
    /// The server refuses upgrades at any other path with 404. A page can have the same path, because pages are served
    /// only to requests that do not upgrade.
    public var path = "/"
    /// The server's certificate. The default, `nil`, disables TLS.
    public var identity: WebSocketIdentity?
    /// The origins whose pages may connect. There can be at most 1,000. By default, the list is empty.
    ///
    /// Scheme, host and port are compared in normal form. The server refuses a request with 403 if its origin is not in
    /// the list, is `null` or is invalid, or if it has two origins.
    public var origins: [WebOrigin] = []
    /// The host in the URLs of the server's own ``pages``, such as `127.0.0.1`. Set this to let those pages connect
    /// too.
    ///
    /// The pages' origin consists of the scheme (which depends on ``identity``), this host, and the port. If the host
    /// is `nil`, which is the default, the pages can connect only if ``origins`` contains their origin. In that case,
    /// the port must be known in advance.
    public var pagesHost: String?
    /// How to treat clients that send no `Origin` header. By default, they need a token.
    public var absentOrigin = WebSocketAbsentOrigin.withToken
    /// The clients that may connect. There can be at most 10,000, with distinct tokens.
    ///
    /// If the list is empty, which is the default, the server requires no token and clients have no principal.
    ///
    /// A client sends its token as `Authorization: Bearer TOKEN` (RFC 6750, 2.1). Pages in browsers cannot set that
    /// header. Instead, they offer the subprotocol `signalbox.bearer.TOKEN`, with the token in base64url without
    /// padding (RFC 4648, 5). Because the server never agrees to that subprotocol, the client must offer `signalbox` or
    /// one of ``subprotocols`` before it; otherwise, the server refuses the request with 400. All offers together can
    /// be at most 126 bytes long, which leaves 73 for the token.
    ///
    /// The server looks for a token in the header, then in the subprotocols and then in the query, and checks only the
    /// first token that it finds. It refuses requests with a wrong or missing token with 401.
    public var principals: [WebSocketPrincipal] = []
    /// Whether the server also accepts a token as `?token=` in the URL. The default is `false`, because logs and
    /// proxies may record the URL.
    ///
    /// If this is enabled, the server logs a warning at the start of each run, and counts the connections whose token
    /// is in the URL.
    public var queryTokens = false
    /// The subprotocols to support in addition to `signalbox`. The default is to support no others.
    ///
    /// There can be at most 32 tokens, none of which may start with `signalbox.`. The server agrees to the first
    /// supported subprotocol that the client offers.
    public var subprotocols: [String] = []
    /// How frames are mapped to actions.
    public var frames = WebSocketFrames()
    /// The limits for a single message. If a message exceeds them, the server closes the connection with 1009.
    public var limits = MessageLimits()
    /// Whether to accept compression (RFC 7692). The default is `false`, because each compressed connection uses about
    /// 100 KB of memory.
    public var compression = false
    /// Whether to send the outcome of actions that have an id. The default is `true`.
    ///
    /// If the source has a journal, the server first answers with the outcome `accepted`, as soon as the action is on disk.
    /// Such an action no longer counts for ``connectionWindow``. Its outcome follows, unless the program stops before.
    public var answers = true
    /// Whether to submit `signalbox.connected` and `signalbox.closed`. The default is `false`.
    ///
    /// If this is enabled, the server refuses new clients with 503 while the source has no room for the announcement.
    /// Connections that end because the server is stopping are not announced.
    public var announcesConnections = false
    /// The maximum number of connections. Must be between 1 and 1,000,000; the default is 1,000.
    ///
    /// The server refuses further clients with 503. Each connection can hold an incomplete message in memory, up to the
    /// size allowed by ``limits``, for ``messageTimeout``.
    public var connections = 1_000
    /// The maximum number of HTTP connections. Must be between 1 and 1,000,000. The default, `nil`, means a quarter of
    /// ``connections``, but at least 32.
    ///
    /// An HTTP connection is one that has not upgraded, such as a connection for ``pages`` or ``healthPath``. At the
    /// limit, a new request evicts the connection that has been idle the longest. If none is idle, the request evicts a
    /// connection that is being answered, provided that the address of that connection has at least two more
    /// connections than the address of the request. Otherwise, the server closes the connection of the new request.
    ///
    /// Connections that have not made a request count only towards the total limit, which is the sum of ``connections``
    /// and this limit. At the total limit, or when descriptors run short, a new connection evicts the oldest one that
    /// has not made a request, or the oldest idle one if all have. However, if some address has more than four
    /// connections that could be evicted, the address with the most of them is the first to lose one.
    public var httpConnections: Int?
    /// The maximum number of HTTP connections from one address. Must be between 1 and ``httpConnections``. The default,
    /// `nil`, means half of ``httpConnections``.
    ///
    /// Clients behind a proxy share one address. IPv6 addresses are grouped by /64, so the limit applies separately to
    /// each of the 65,536 groups in a /48.
    public var httpConnectionsPerAddress: Int?
    /// The maximum number of requests per HTTP connection. Must be between 1 and 1,000,000; the default is 100.
    ///
    /// The server closes the connection after the last response.
    public var httpRequests = 100
    /// The maximum lifetime of an HTTP connection, which is also the maximum time to send a document. Must be between
    /// 1 s and 1 h; the default is 30 s.
    ///
    /// A client can still request a document when the lifetime is nearly over, so a connection can last up to twice as
    /// long. In the second half of the lifetime, responses include `Connection: close`. The time between two requests
    /// is limited to ``handshakeTimeout``.
    public var httpTimeout: Duration = .seconds(30)
    /// The maximum number of unsettled messages per connection. Must be between 1 and 10,000; the default is 64.
    ///
    /// At the limit, the server stops reading from the connection until half of its messages are settled, so that one
    /// connection cannot fill the source's window. A batch may exceed the limit.
    public var connectionWindow = 64
    /// The maximum number of calls per connection that wait for the client's answer. Must be between 1 and 10,000; the
    /// default is 64.
    ///
    /// Further calls fail with `full`.
    public var callsInFlight = 64
    /// The timeout for each step of opening a connection. Must be between 1 s and 1 h, in whole seconds; the default is
    /// 10 s.
    public var handshakeTimeout: Duration = .seconds(10)
    /// The maximum time from the first piece of a message to its last. Must be between 1 s and 1 h; the default is
    /// 30 s.
    ///
    /// If a message takes longer, the server closes the connection with 1008, up to a second late. Time during which
    /// reading is paused does not count.
    public var messageTimeout: Duration = .seconds(30)
    /// The maximum time without a message. Must be between 1 s and 7 days. If it is `nil`, which is the default, a
    /// client only has to answer pings.
    ///
    /// If a client is silent for longer, the server closes the connection with 1001, up to a second late. Time during
    /// which reading is paused does not count.
    public var idleTimeout: Duration?
    /// How long a client can be silent before the server pings it. Must be between 1 s and 1 h, in whole seconds; the
    /// default is 30 s.
    public var pingAfter: Duration = .seconds(30)
    /// How long a client can be silent, even when pinged, before it counts as lost. The default is 45 s.
    ///
    /// The value must be in whole seconds, more than ``pingAfter`` and at most 2 h.
    public var silenceLimit: Duration = .seconds(45)
    /// The maximum number of bytes waiting to be sent on one connection. Must be between 1 KiB and 1 GiB; the default
    /// is 1 MiB.
    ///
    /// If a connection exceeds the limit, the server closes it with 1013.
    public var waitingBytes = 1_048_576
    /// The maximum number of bytes waiting to be sent on all connections together. Must be at least ``waitingBytes``
    /// and at most 64 GiB; the default is 64 MiB.
    ///
    /// If a message would exceed the limit, the connection with the most waiting bytes is closed with 1013.
    public var allWaitingBytes = 67_108_864
    /// The tags that every connection starts with. By default, there are no such tags.
    ///
    /// Each tag must be 1 to 128 bytes long, and there can be at most ``tagsPerConnection``. The server sets these tags
    /// before the first message arrives. By contrast, a plugin that adds a tag on `signalbox.connected` may run after
    /// the first message, because a message waits only for its own plugin.
    public var tags: Set<String> = []
    /// The maximum number of tags per connection. Must be between 1 and 1,000; the default is 32.
    public var tagsPerConnection = 32
    /// The documents to serve, by path. There can be at most 100, with a total size of 16 MiB.
    ///
    /// Every client that reaches the port can read the documents, and plugins cannot change them. Other paths return
    /// 404, and methods other than `GET` and `HEAD` return 405.
    public var pages: [String: WebSocketPage] = [:]
    /// The path of the health check, which returns `{"status":"ok"}`, or `nil` to disable it. The default is `/health`.
    public var healthPath: String? = "/health"
    /// What to do about clients of this machine that need no token, for the warning about them.
    package var localAccessAdvice = "set principals, or do not allow clients without an origin"
    /// How long clients have to read waiting data and the close frame when the server stops.
    var closeTimeout: Duration = .seconds(1)

    /// Creates a configuration for a server that can be reached only from this machine.
    public init(source: SourceName, port: UInt16) {
        self.source = source
        self.port = port
    }
}

/// How a server treats a client without an `Origin` header. Browsers always send this header.
public enum WebSocketAbsentOrigin: String, Sendable, Hashable, CaseIterable {
    /// The client needs a valid token. If the server has no principals, the client is refused.
    case withToken
    /// The client is treated as if its origin were allowed. If the server has principals, the client still needs a
    /// token.
    case allowed
    /// The client is refused.
    case refused
}

/// A client that may connect, and the token that identifies it.
public struct WebSocketPrincipal: Sendable, Hashable {
    /// The name used in access rules, facts and logs. It must be 1 to 128 bytes long, without control characters.
    public let name: String
    /// The token, which must be at least 16 bytes long. The server reads it when a run starts.
    public let token: Secret

    /// Creates a principal. It is validated as part of its configuration.
    public init(_ name: String, token: Secret) {
        self.name = name
        self.token = token
    }
}

extension WebSocketServerConfiguration {
    /// Returns the origin of the server's own pages on the given port, or `nil` if ``pagesHost`` is not set.
    func pagesOrigin(port: UInt16) -> WebOrigin? {
        guard let pagesHost else { return nil }
        return try? WebOrigin("\(identity == nil ? "http" : "https")://\(pagesHost):\(port)")
    }

    /// Returns what the server serves on a listener.
    ///
    /// - Parameter isAlone: Whether the server has the listener for itself, so that it answers upgrades at any path.
    func traits(isAlone: Bool) -> SiteTraits {
        var traits = SiteTraits()
        traits.socketPath = isAlone ? nil : path
        traits.subprotocols = subprotocols.filter { $0 != BearerToken.companion } + [BearerToken.companion]
        traits.compresses = compression
        traits.pages = allPages
        traits.waitingBytes = waitingBytes
        return traits
    }

    /// The limits for the number of HTTP connections, with `nil` values replaced by their defaults.
    var httpLimits: HTTPLimits {
        var limits = HTTPLimits()
        limits.connections = httpConnections ?? max(32, connections / 4)
        limits.connectionsPerAddress = httpConnectionsPerAddress ?? max(1, limits.connections / 2)
        return limits
    }
}
