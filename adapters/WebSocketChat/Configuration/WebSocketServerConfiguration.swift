public import SignalboxCore
public import SignalboxRoutes

/// Everything a chat server is told. ``WebSocketServer`` validates it.
///
/// Somebody must be able to connect: at least one origin, or ``pagesHost``, or ``absentOrigin`` `allowed`, or `withToken` and a principal; a server with
/// ``pages`` needs nobody.
///
/// The header `Host` decides nothing: whoever gets a page or ``healthPath`` by a name of their own for this address (DNS
/// rebinding) learns nothing secret, and their scripts cannot open a connection, as browsers send the script's own
/// `Origin`.
public struct WebSocketServerConfiguration: Sendable {
    /// The configured source whose arrivals these are.
    public var source: SourceName
    /// A numeric address of this machine, IPv6 without brackets; `127.0.0.1` by default, which nobody else can reach. `::`
    /// is every address of the machine.
    public var address = "127.0.0.1"
    /// 0 lets the system choose; ``WebSocketServer/port()`` tells.
    public var port: UInt16
    /// The path clients connect to, as it is after percent-decoding, at most 1,024 bytes; `/` by default. An upgrade
    /// elsewhere is refused with 404. A page may have the same path: it is for those who ask for no upgrade.
    public var path = "/"
    /// The server's certificate; `nil`, the default: without TLS.
    public var identity: WebSocketIdentity?
    /// The origins whose pages may connect, at most 1,000; none by default. Scheme, host and port are compared in normal
    /// form. A request with another origin, with `null`, with what is no origin, or with two of them is refused with 403.
    public var origins: [WebOrigin] = []
    /// The host by which browsers reach this server's own ``pages``, as it stands in a URL, such as `127.0.0.1`: then they
    /// may connect, too, as the origin of ``identity``'s scheme, this host and the port. `nil`, the default: a page of this
    /// server may connect where ``origins`` name its origin, which takes a port that is known.
    public var pagesHost: String?
    /// What becomes of clients without an `Origin`.
    public var absentOrigin = WebSocketAbsentOrigin.withToken
    /// Who may connect, at most 10,000 with tokens that differ. Without any, no token is asked for and nobody has a
    /// principal.
    ///
    /// A token comes as `Authorization: Bearer TOKEN` (RFC 6750, 2.1) or, from a browser, which cannot send that header, as
    /// the subprotocol `signalbox.bearer.TOKEN` with the token in base64url (RFC 4648, 5; padding left out). A token is never
    /// agreed to, so `signalbox`, or one of ``subprotocols``, must be offered before it: who offers nothing else is refused
    /// with 400, and browsers fail a connection whose server agrees to none of what they offered. All that is offered has
    /// at most 126 bytes, so a token that comes this way has at most 73. The first of header, subprotocol and query that is
    /// there counts, the others are not looked at. Wrong or missing: 401.
    public var principals: [WebSocketPrincipal] = []
    /// Whether a token may also come as `?token=`, which logs and proxies on the way may keep; `false` by default. Warned
    /// about once a run, and counted.
    public var queryTokens = false
    /// The subprotocols the server speaks, besides `signalbox`, which it always does: at most 32 tokens, none that begins
    /// with `signalbox.`; none by default. The client's first that is among them is agreed on.
    public var subprotocols: [String] = []
    /// How frames become actions.
    public var frames = WebSocketFrames()
    /// The bounds of one message. One that is larger closes its connection with 1009.
    public var limits = MessageLimits()
    /// Whether compression is agreed to (RFC 7692); `false` by default: each connection that uses it costs about 100 KB.
    public var compression = false
    /// Whether an action that has an id is answered with its outcome; `true` by default.
    public var answers = true
    /// Whether `signalbox.connected` and `signalbox.closed` are submitted; `false` by default. Those who come while the
    /// source has no room are then answered with 503; the connections that the server's stop ends are not told of.
    public var announcesConnections = false
    /// How many connections there may be, 1 to 1,000,000; 1,000 by default. Further ones are answered with 503. Each may
    /// hold an unfinished message of up to ``limits`` in memory for ``messageTimeout``.
    public var connections = 1_000
    /// The maximum number of HTTP connections (``pages``, ``healthPath``), 1 to 1,000,000; `nil`, the default: a quarter of
    /// ``connections``, at least 32. An HTTP connection is one that has not upgraded.
    ///
    /// At the limit a new request evicts the connection that has been idle longest. If none is idle, it evicts one that is
    /// being answered, from an address with at least two more than its own; otherwise the new connection is closed.
    ///
    /// Connections without a request count towards the limit of all connections, which is the sum of ``connections`` and
    /// this. At that limit, or when the process runs short of descriptors, a new connection evicts the oldest one without a
    /// request. An address with more than four connections that could be evicted is the first to lose one.
    public var httpConnections: Int?
    /// The same for one address, 1 to ``httpConnections``; `nil`, the default: half of ``httpConnections``. Clients behind a
    /// proxy share one address. IPv6 addresses are grouped by /64, so that a /48 has 65,536 of these limits.
    public var httpConnectionsPerAddress: Int?
    /// The maximum number of requests on one HTTP connection, 1 to 1,000,000; 100 by default. The last answer closes it.
    public var httpRequests = 100
    /// The maximum lifetime of an HTTP connection, and the maximum time to send one document, 1 s to 1 h; 30 s by default.
    ///
    /// A document may be requested until the lifetime ends, so a connection lasts at most twice as long. An answer after half
    /// of the lifetime says `Connection: close`. A connection that is idle between two requests is closed after
    /// ``handshakeTimeout``.
    public var httpTimeout: Duration = .seconds(30)
    /// How many messages of one connection may be without an outcome, 1 to 10,000; 64 by default. From there on nothing is
    /// read from it until half of them have one, so that it cannot fill the source's window alone. One frame that brings
    /// an array may go beyond it.
    public var connectionWindow = 64
    /// How long each step of opening may take, 1 s to 1 h in whole seconds; 10 s by default.
    public var handshakeTimeout: Duration = .seconds(10)
    /// How long a message may take from its first piece to its last, 1 s to 1 h; 30 s by default. Then the connection is
    /// closed with 1008. Time in which the connection is not read does not count; up to a second more is given.
    public var messageTimeout: Duration = .seconds(30)
    /// How long a connection may send no message, 1 s to 7 days; `nil`, the default: for ever, as long as it answers pings.
    /// Then it is closed with 1001. Time in which the connection is not read does not count; up to a second more is given.
    public var idleTimeout: Duration?
    /// After how much silence a client is pinged, 1 s to 1 h in whole seconds; 30 s by default.
    public var pingAfter: Duration = .seconds(30)
    /// After how much silence, pings included, a client counts as dead, more than ``pingAfter`` and at most 2 h in whole
    /// seconds; 45 s by default.
    public var silenceLimit: Duration = .seconds(45)
    /// How many bytes may wait to be sent on one connection, 1 KiB to 1 GiB; 1 MiB by default. A reader too slow for that
    /// is closed with 1013.
    public var waitingBytes = 1_048_576
    /// How many bytes may wait to be sent on all connections, at least ``waitingBytes`` and at most 64 GiB; 64 MiB by
    /// default. Beyond it the connection on which most wait is closed with 1013.
    public var allWaitingBytes = 67_108_864
    /// The tags that every connection has from its beginning, of 1 to 128 bytes, at most ``tagsPerConnection``; none by
    /// default. A plugin that joins on `signalbox.connected` may be called after a connection's first messages, as messages
    /// wait for their own plugins alone; these tags are there before.
    public var tags: Set<String> = []
    /// How many tags one connection may have, 1 to 1,000; 32 by default.
    public var tagsPerConnection = 32
    /// Documents by path, at most 100 of together 16 MiB; a plugin cannot change them. Anybody who reaches the port gets
    /// them: they are no place for secrets. Other paths are answered with 404, other methods than `GET` and `HEAD` with 405.
    public var pages: [String: WebSocketPage] = [:]
    /// The path that tells whether the server runs, `{"status":"ok"}` in JSON; `/health` by default, `nil` for none.
    public var healthPath: String? = "/health"
    /// How long clients have to take what waits for them, and the close frame behind it, when the server stops.
    var farewell: Duration = .seconds(1)

    /// A server that only this machine can reach.
    public init(source: SourceName, port: UInt16) {
        self.source = source
        self.port = port
    }
}

/// What becomes of a client that sends no header `Origin`. Browsers always send one, so it is none.
public enum WebSocketAbsentOrigin: String, Sendable, Hashable, CaseIterable {
    /// It needs a valid token, as everybody does where there are principals; without principals it is refused.
    case withToken
    /// It is allowed as those of an allowed origin are: it still needs a token where there are principals.
    case allowed
    /// It is refused.
    case refused
}

/// Somebody who may connect, told by a token.
public struct WebSocketPrincipal: Sendable, Hashable {
    /// Who it is, for access rules, facts and logs: 1 to 128 bytes without control characters.
    public let name: String
    /// The token, of at least 16 bytes, read when the server begins to run.
    public let token: Secret

    /// A principal as given; checked with the configuration it stands in.
    public init(_ name: String, token: Secret) {
        self.name = name
        self.token = token
    }
}

extension WebSocketServerConfiguration {
    /// The origin of the server's own pages on the port it listens on; `nil` where they may not connect as such.
    func pagesOrigin(port: UInt16) -> WebOrigin? {
        guard let pagesHost else { return nil }
        return try? WebOrigin("\(identity == nil ? "http" : "https")://\(pagesHost):\(port)")
    }

    /// What the server offers, and where.
    var place: ServerPlace {
        var place = ServerPlace()
        // Of both families at once.
        place.address = address == "::" ? nil : address
        place.port = port
        place.identity = identity.map { .init(certificateFile: $0.certificateFile, keyFile: $0.keyFile) }
        place.subprotocols = subprotocols.filter { $0 != BearerToken.companion } + [BearerToken.companion]
        place.compresses = compression
        place.pages = ServerPages.all(of: self)
        place.http = httpLimits
        return place
    }

    /// The limits for HTTP connections, with defaults where the configuration has `nil`.
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
