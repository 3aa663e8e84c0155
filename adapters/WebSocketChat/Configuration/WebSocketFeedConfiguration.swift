import AdapterThreads
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

extension WebSocketFeedConfiguration {
    /// The most seconds that a step of connecting may take. The transport gives up later than that, so that it is the feed
    /// that does.
    static let connectLimit = 60

    /// Checks every range, and that the values go together.
    ///
    /// - Throws: ``WebSocketChatError`` `invalidConfiguration` for the first fault, with the source's name and what to do.
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
            throw fault("at most 32 subprotocols of together 1024 bytes are offered, each a token (RFC 9110, 5.6.2)")
        }
        guard Set(subprotocols).count == subprotocols.count else { throw fault("a subprotocol is offered twice") }
        if let origin {
            guard HeaderField.isWord(origin), origin.utf8.count <= ClientTarget.originLimit else {
                throw fault(
                    "an origin has 1 to \(ClientTarget.originLimit) bytes without spaces, such as https://app.example"
                )
            }
        }
    }

    private func validateHeaders() throws(WebSocketChatError) {
        guard headers.count <= 32 else { throw fault("a request has at most 32 further headers") }
        var names: Set<String> = []
        for header in headers {
            if let words = header.fault(hasBearer: bearer != nil) { throw fault("the header \(words)") }
            guard names.insert(header.name.lowercased()).inserted else {
                throw fault("the header \(header.name) is there twice")
            }
        }
        if case .text(let token) = bearer?.place, token.isEmpty || !HeaderField.isLine(token) {
            throw fault("the bearer token is empty or has control characters")
        }
    }

    private func validateSecurity() throws(WebSocketChatError) {
        if !url.isSecure {
            guard trust == .system else { throw fault("trust in certificates needs wss://") }
            guard identity == nil else { throw fault("a certificate of one's own needs wss://") }
        } else if url.host.first == "[" {
            throw fault("a certificate cannot be checked for an IPv6 address: use wss:// with a name")
        }
        var files = [identity?.certificateFile, identity?.keyFile].compactMap { $0 }
        if case .authority(let file) = trust { files.append(file) }
        guard files.allSatisfy({ !$0.isEmpty && HeaderField.isLine($0) }) else {
            throw fault("the path of a certificate or key file is empty or has control characters")
        }
    }

    private func validateMessages() throws(WebSocketChatError) {
        guard (1_024...1 << 30).contains(waitingBytes) else { throw fault("the waiting bytes are 1 KiB to 1 GiB") }
        guard openingMessages.count <= 100 else { throw fault("there are at most 100 opening messages") }
        let opening = openingMessages.reduce(0) { $0 + $1.utf8.count + TransportLimits.messageOverhead }
        guard opening <= waitingBytes else {
            throw fault("the opening messages take \(opening) bytes, more than may wait (\(waitingBytes))")
        }
        guard (1...10_000).contains(frames.batch) else { throw fault("a batch holds 1 to 10000 messages") }
        guard (1...1 << 30).contains(limits.bytes), (1...512).contains(limits.depth) else {
            throw fault("a message is limited to 1 to 2^30 bytes, and to a depth of 1 to 512")
        }
    }

    private func validateTimes() throws(WebSocketChatError) {
        guard (Duration.seconds(1) ... .seconds(WebSocketFeedConfiguration.connectLimit)).contains(connectTimeout)
        else {
            throw fault("a step of connecting may take 1 to \(WebSocketFeedConfiguration.connectLimit) s")
        }
        let times = Duration.seconds(1) ... .seconds(3_600)
        guard pingAfter.map(times.contains) ?? true else { throw fault("a ping is sent after 1 s to 1 h, or never") }
        guard times.contains(pongWithin) else { throw fault("the answer to a ping may take 1 s to 1 h") }
    }

    private func fault(_ detail: String) -> WebSocketChatError {
        WebSocketChatError(.invalidConfiguration, detail)
    }
}

/// How long to wait before a server is tried again.
///
/// Each wait is drawn at random between nothing and a ceiling that begins at ``first`` and doubles up to ``cap``, so that
/// many clients do not come back at once. The ceiling falls back to ``first`` only when a connection held for ``holds``.
/// After a fault that mostly only a changed configuration cures the wait is drawn from ``slow``: the answers 400, 401,
/// 403, 404, 405, 407, 410, 426 and redirections, a connection that cannot be secured, a subprotocol that was not agreed
/// on, a secret that cannot be read.
public struct WebSocketReconnect: Sendable, Hashable {
    /// The first ceiling, 1 ms to ``cap``; 0.5 s by default.
    public var first: Duration
    /// The largest ceiling, at most 1 hour; 30 s by default.
    public var cap: Duration
    /// The range of waits after a fault of the configuration, 1 ms to 1 hour; 30 to 60 s by default.
    public var slow: ClosedRange<Duration>
    /// How long a connection must have been open to count as good, 0 to 1 hour; 10 s by default.
    public var holds: Duration

    /// Waits as given.
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
    /// Checks every range.
    func validate() throws(WebSocketChatError) {
        let hour = Duration.seconds(3_600)
        guard first >= .milliseconds(1), first <= cap, cap <= hour else {
            throw WebSocketChatError(.invalidConfiguration, "reconnecting waits 1 ms or more, and at most a cap of 1 h")
        }
        guard slow.lowerBound >= .milliseconds(1), slow.upperBound <= hour else {
            throw WebSocketChatError(.invalidConfiguration, "the slow waits between connections are 1 ms to 1 h")
        }
        guard (.zero...hour).contains(holds) else {
            throw WebSocketChatError(.invalidConfiguration, "a connection counts as good after 0 to 1 h")
        }
    }

    var backoff: ReconnectBackoff {
        ReconnectBackoff(first: first, cap: cap, slow: slow)
    }
}

/// A header of a client's request. Its value is kept as a secret is: it may be one.
public struct WebSocketHeader: Sendable, Hashable {
    /// A token (RFC 9110, 5.6.2). Those of the handshake itself cannot be set: `Host`, `Upgrade`, `Connection`, `Origin`,
    /// and what begins with `Sec-WebSocket-`; nor those that announce a body: `Content-Length`, `Transfer-Encoding`.
    public let name: String
    /// One line without control characters, read at each connection.
    public let value: Secret

    /// A header as given; checked with the configuration it stands in.
    public init(_ name: String, _ value: Secret) {
        self.name = name
        self.value = value
    }

    /// Why no client's request may have it, in words that follow "the header"; `nil` when it may.
    ///
    /// - Parameter hasBearer: whether the request has a bearer token besides.
    func fault(hasBearer: Bool) -> String? {
        guard HeaderField.isToken(name), name.utf8.count <= WebSocketHeader.nameLimit else {
            return
                "\(name.debugDescription) is no token of at most \(WebSocketHeader.nameLimit) bytes (RFC 9110, 5.6.2)"
        }
        let lowercase = name.lowercased()
        if lowercase == "origin" { return "\(name) is set with the origin" }
        if lowercase == "sec-websocket-protocol" { return "\(name) is set with the subprotocols" }
        if lowercase == "authorization" && hasBearer {
            return "\(name) is set by the bearer token: leave out one of them"
        }
        if WebSocketHeader.reserved.contains(lowercase) || lowercase.hasPrefix("sec-websocket-") {
            return "\(name) belongs to the handshake and cannot be set"
        }
        if case .text(let text) = value.place, text.isEmpty || !HeaderField.isLine(text) {
            return "\(name) has a value that is empty or has control characters"
        }
        return nil
    }

    private static let nameLimit = 128
    private static let reserved: Set<String> = ["host", "upgrade", "connection", "content-length", "transfer-encoding"]
}
