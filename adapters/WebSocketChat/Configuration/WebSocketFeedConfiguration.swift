import AdapterSupport
public import SignalboxCore

/// The configuration of a feed.
///
/// The default values suit a server that sends JSON messages and expects no answers. Set ``openingMessages`` if the
/// server sends nothing before the client has subscribed, and ``bearer`` if it requires a token. ``WebSocketFeed``
/// validates the configuration when it is created.
public struct WebSocketFeedConfiguration: Sendable, Hashable {
    /// The source that the arrivals belong to.
    public var source: SourceName
    /// The URL of the server.
    public var url: WebSocketURL
    /// The subprotocols to offer, most preferred first. The default is to offer none.
    ///
    /// The list may contain at most 32 distinct tokens with 1,024 bytes in total. If the server agrees to none of them,
    /// the feed drops the connection, as browsers do.
    public var subprotocols: [String] = []
    /// The `Origin` header, of 1 to 117 bytes without spaces. By default, the request has no such header.
    public var origin: String?
    /// Additional request headers. There may be at most 32, and their names must be distinct.
    public var headers: [WebSocketHeader] = []
    /// The token for `Authorization: Bearer`, if any. The feed reads it again for each connection.
    public var bearer: Secret?
    /// The certificates to trust for `wss://`. The default is to trust the authorities of the system.
    public var trust = WebSocketTrust.system
    /// The client's own certificate for `wss://`, if any.
    public var identity: WebSocketIdentity?
    /// The texts to send after each connection opens, such as a subscription. The default is to send none.
    ///
    /// The feed sends them in order and before anything else. There may be at most 100, and together they must fit into
    /// ``waitingBytes``.
    public var openingMessages: [String] = []
    /// How frames are mapped to actions.
    public var frames = WebSocketFrames()
    /// The limits of one message. The feed closes the connection with 1009 if a message exceeds them.
    public var limits = MessageLimits()
    /// Whether to offer compression (RFC 7692), which the server may decline. The default is `false`, because each
    /// compressed connection costs about 100 KB.
    public var compression = false
    /// Whether to send the outcome of an action that has an id. The default is `false`, as feed servers rarely expect
    /// it.
    public var answers = false
    /// Whether to submit `signalbox.connected` and `signalbox.closed`. The default is `false`.
    public var announcesConnections = false
    /// The delays between connections, or `nil` to disable reconnection.
    ///
    /// Without reconnection the run ends with the first connection. It returns if either side closed the connection
    /// with 1000 or 1001. Otherwise it throws `ended`, or `notConnected` if no connection was made.
    public var reconnect: WebSocketReconnect? = WebSocketReconnect()
    /// Whether a run throws `notConnected` if its first connection fails. The default is `false`, so the feed tries
    /// again.
    public var firstConnectionMustSucceed = false
    /// The timeout of each step of connecting, 1 to 60 s. The default is 10 s.
    ///
    /// Reading the secrets and resolving the name is one step. For each address, everything up to the response of the
    /// server is another.
    public var connectTimeout: Duration = .seconds(10)
    /// The period of silence after which the feed pings the server, 1 s to 1 h. The default is 30 s.
    ///
    /// If it is `nil`, the feed sends no pings and may not notice that it has lost the server.
    public var pingAfter: Duration? = .seconds(30)
    /// The maximum time to wait for the answer to a ping, 1 s to 1 h. The default is 10 s.
    ///
    /// The feed checks the time about every half second. Any message counts as an answer, and time during which reading
    /// is paused does not count.
    public var pongWithin: Duration = .seconds(10)
    /// The maximum number of bytes waiting to be sent, 1 KiB to 1 GiB. The default is 1 MiB.
    ///
    /// Each message counts 64 bytes more than its length. The feed refuses messages beyond the limit with `full`.
    public var waitingBytes = 1_048_576

    /// Creates the configuration of a feed that reconnects indefinitely.
    public init(source: SourceName, url: WebSocketURL) {
        self.source = source
        self.url = url
    }
}

extension WebSocketFeedConfiguration {
    /// The maximum timeout of a connecting step, in seconds. The transport has a longer timeout, so this one ends
    /// first.
    static let connectLimit = 60

    /// Checks all ranges and combinations.
    ///
    /// - Throws: ``WebSocketChatError`` `invalidConfiguration` for the first invalid value. The error names the source
    ///   and the remedy.
    public func validate() throws(WebSocketChatError) {
        do throws(WebSocketChatError) {
            try validateRequest()
            try validateHeaders()
            try validateSecurity()
            try validateMessages()
            try validateTimes()
            try reconnect?.validate()
        } catch {
            throw error.about(source)
        }
    }

    private func validateRequest() throws(WebSocketChatError) {
        guard subprotocols.count <= 32, subprotocols.allSatisfy(HeaderField.isToken),
            subprotocols.reduce(0, { $0 + $1.utf8.count }) <= 1_024
        else {
            throw .invalid("a feed offers at most 32 subprotocols, 1024 bytes in total, each a token (RFC 9110, 5.6.2)")
        }
        guard Set(subprotocols).count == subprotocols.count else { throw .invalid("a subprotocol is offered twice") }
        if let origin {
            guard HeaderField.isWord(origin), origin.utf8.count <= ClientTarget.originLimit else {
                throw .invalid(
                    "an origin must have 1 to \(ClientTarget.originLimit) bytes without spaces, such as https://app.example"
                )
            }
        }
    }

    private func validateHeaders() throws(WebSocketChatError) {
        guard headers.count <= 32 else { throw .invalid("a request can have at most 32 further headers") }
        var names: Set<String> = []
        for header in headers {
            if let problem = header.problem(hasBearer: bearer != nil) { throw .invalid("the header \(problem)") }
            guard names.insert(header.name.lowercased()).inserted else {
                throw .invalid("the header \(header.name) occurs twice")
            }
        }
        if case .text(let token) = bearer?.source, token.isEmpty || !HeaderField.isLine(token) {
            throw .invalid("the bearer token is empty or contains control characters")
        }
    }

    private func validateSecurity() throws(WebSocketChatError) {
        if !url.isSecure {
            guard trust == .system else { throw .invalid("trusted certificates need wss://") }
            guard identity == nil else { throw .invalid("a client certificate needs wss://") }
        } else if url.host.first == "[" {
            throw .invalid("a certificate cannot be verified for an IPv6 address: use wss:// with a host name")
        }
        var files = [identity?.certificateFile, identity?.keyFile].compactMap { $0 }
        if case .authority(let file) = trust { files.append(file) }
        guard files.allSatisfy({ !$0.isEmpty && HeaderField.isLine($0) }) else {
            throw .invalid("the path of a certificate or key file is empty or contains control characters")
        }
    }

    private func validateMessages() throws(WebSocketChatError) {
        guard (1_024...1 << 30).contains(waitingBytes) else {
            throw .invalid("the waiting bytes must be 1 KiB to 1 GiB")
        }
        guard openingMessages.count <= 100 else { throw .invalid("a feed can have at most 100 opening messages") }
        let opening = openingMessages.reduce(0) { $0 + $1.utf8.count + TransportLimits.messageOverhead }
        guard opening <= waitingBytes else {
            throw .invalid("the opening messages take \(opening) bytes, more than may wait (\(waitingBytes))")
        }
        guard (1...10_000).contains(frames.batch) else { throw .invalid("a batch must have 1 to 10000 messages") }
        guard (1...1 << 30).contains(limits.bytes), (1...512).contains(limits.depth) else {
            throw .invalid("the limits of a message must be 1 to 2^30 bytes and a depth of 1 to 512")
        }
    }

    private func validateTimes() throws(WebSocketChatError) {
        guard (Duration.seconds(1) ... .seconds(WebSocketFeedConfiguration.connectLimit)).contains(connectTimeout)
        else {
            throw .invalid("the connect timeout must be 1 to \(WebSocketFeedConfiguration.connectLimit) s")
        }
        let times = Duration.seconds(1) ... .seconds(3_600)
        guard pingAfter.map(times.contains) ?? true else {
            throw .invalid("the time before a ping must be 1 s to 1 h, or none")
        }
        guard times.contains(pongWithin) else { throw .invalid("the time for the answer to a ping must be 1 s to 1 h") }
    }
}

/// The delays before reconnecting.
///
/// Each delay is random between zero and a ceiling, so that the clients of a server that restarts do not all reconnect
/// at the same time. The ceiling starts at ``first`` and doubles up to ``cap``. It returns to ``first`` after a
/// connection that lasted for ``holds``.
///
/// Some failures usually require a change of the configuration, so the delay that follows them comes from ``slow``.
/// These are redirections, the statuses 400, 401, 403, 404, 405, 407, 410 and 426, failed TLS, an unexpected or missing
/// subprotocol, and an unreadable secret.
public struct WebSocketReconnect: Sendable, Hashable {
    /// The first ceiling, 1 ms to ``cap``. The default is 0.5 s.
    public var first: Duration
    /// The maximum ceiling, at most 1 hour. The default is 30 s.
    public var cap: Duration
    /// The range of delays after a configuration error, 1 ms to 1 hour. The default is 30 to 60 s.
    public var slow: ClosedRange<Duration>
    /// How long a connection must stay open to reset the ceiling, 0 to 1 hour. The default is 10 s.
    public var holds: Duration

    /// Creates delays with the given values.
    public init(
        first: Duration = .milliseconds(500),
        cap: Duration = .seconds(30),
        slow: ClosedRange<Duration> = .seconds(30) ... .seconds(60),
        holds: Duration = .seconds(10)
    ) {
        self.first = first
        self.cap = cap
        self.slow = slow
        self.holds = holds
    }
}

extension WebSocketReconnect {
    /// Checks all ranges.
    func validate() throws(WebSocketChatError) {
        let hour = Duration.seconds(3_600)
        guard first >= .milliseconds(1), first <= cap, cap <= hour else {
            throw .invalid(
                "the reconnect waits must be 1 ms or more, with a cap of at most 1 h"
            )
        }
        guard slow.lowerBound >= .milliseconds(1), slow.upperBound <= hour else {
            throw .invalid("the slow waits between connections must be 1 ms to 1 h")
        }
        guard (.zero...hour).contains(holds) else {
            throw .invalid(
                "the time after which a connection counts as stable must be 0 to 1 h"
            )
        }
    }

    var backoff: ReconnectBackoff {
        ReconnectBackoff(first: first, cap: cap, slow: slow)
    }
}

/// A header of a client's request. The value is a secret because it may be a credential.
public struct WebSocketHeader: Sendable, Hashable {
    /// The name, which is a token (RFC 9110, 5.6.2).
    ///
    /// The headers of the handshake (`Host`, `Upgrade`, `Connection`, `Origin`, `Sec-WebSocket-*`) are not allowed, nor
    /// are headers that announce a body (`Content-Length`, `Transfer-Encoding`).
    public let name: String
    /// The value, which is one line without control characters. The feed reads it for each connection.
    public let value: Secret

    /// Creates a header. It is validated together with the configuration that contains it.
    public init(_ name: String, _ value: Secret) {
        self.name = name
        self.value = value
    }

    /// Returns why a client's request cannot have the header, in words that follow "the header", or `nil` if it can.
    ///
    /// - Parameter hasBearer: Whether the request also has a bearer token.
    func problem(hasBearer: Bool) -> String? {
        guard HeaderField.isToken(name), name.utf8.count <= WebSocketHeader.nameLimit else {
            return
                "\(name.debugDescription) is not a token of at most \(WebSocketHeader.nameLimit) bytes (RFC 9110, 5.6.2)"
        }
        let lowercase = name.lowercased()
        if lowercase == "origin" { return "\(name) is set from the origin" }
        if lowercase == "sec-websocket-protocol" { return "\(name) is set from the subprotocols" }
        if lowercase == "authorization" && hasBearer {
            return "\(name) is set by the bearer token: leave out one of them"
        }
        if WebSocketHeader.reserved.contains(lowercase) || lowercase.hasPrefix("sec-websocket-") {
            return "\(name) belongs to the handshake and cannot be set"
        }
        if case .text(let text) = value.source, text.isEmpty || !HeaderField.isLine(text) {
            return "\(name) has a value that is empty or contains control characters"
        }
        return nil
    }

    private static let nameLimit = 128
    private static let reserved: Set<String> = ["host", "upgrade", "connection", "content-length", "transfer-encoding"]
}
