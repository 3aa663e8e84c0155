import AdapterSupport
public import SignalboxCore

/// The configuration of a feed.
///
/// The defaults suit a server that sends JSON messages and expects no answers. If the server sends nothing until the
/// client subscribes, set ``openingMessages``. If it requires a token, set ``bearer``. ``WebSocketFeed`` validates the
/// configuration when it is created.
public struct WebSocketFeedConfiguration: Sendable, Hashable {
    /// The source that arrivals from the feed belong to.
    public var source: SourceName
    /// The server's URL.
    public var url: WebSocketURL
    /// The path of the server's Unix socket, if the feed connects to one instead of the URL's host and port. The default
    /// is `nil`.
    ///
    /// The request and TLS still use the URL's host. The path can have at most 107 bytes (103 on macOS) and no control
    /// characters. If it begins with `@`, the rest names an abstract socket, which only Linux has.
    public var unixSocket: String?
    /// The proxy through which to connect, if any. The environment's variables, such as `http_proxy`, have no effect.
    public var proxy: WebSocketProxy?
    /// The subprotocols to offer, most preferred first. The default is to offer none.
    ///
    /// There can be at most 32 distinct tokens, with a total of at most 1,024 bytes. If the server agrees to none of
    /// them, the feed drops the connection, as browsers do.
    public var subprotocols: [String] = []
    /// The `Origin` header, from 1 to 117 bytes without spaces. The default, `nil`, sends no such header.
    public var origin: String?
    /// Additional request headers. There can be at most 32, with distinct names.
    public var headers: [WebSocketHeader] = []
    /// The token for `Authorization: Bearer`, if any. The feed reads it again before each connection.
    public var bearer: Secret?
    /// The login for `Authorization: Basic`, if any. It excludes ``bearer``.
    public var login: WebSocketLogin?
    /// The certificates to trust for `wss://`. By default, the feed trusts the system's certificate authorities.
    public var trust = WebSocketTrust.system
    /// The client's own certificate for `wss://`, if any.
    public var identity: WebSocketIdentity?
    /// The texts to send as soon as a connection opens, such as a subscription. The default is to send none.
    ///
    /// The feed sends them in order, before anything else. There can be at most 100, and together they must fit into
    /// ``waitingBytes``.
    public var openingMessages: [String] = []
    /// How frames are mapped to actions.
    public var frames = WebSocketFrames()
    /// The limits for a single message. If a message exceeds them, the feed closes the connection with 1009.
    public var limits = MessageLimits()
    /// Whether to offer compression (RFC 7692). The server may decline it. The default is `false`, because each
    /// compressed connection uses about 100 KB of memory.
    public var compression = false
    /// Whether to send the outcome of actions that have an id. The default is `false`, because servers rarely expect it
    /// from a feed.
    ///
    /// If the source has a journal, the feed first answers with the outcome `accepted`, as soon as the action is on disk.
    public var answers = false
    /// Whether to submit `signalbox.connected` and `signalbox.closed`. The default is `false`.
    public var announcesConnections = false
    /// How long to wait between connections, or `nil` to disable reconnection.
    ///
    /// Without reconnection, the run ends when the first connection ends. The run returns normally if either side
    /// closed the connection with 1000 or 1001; otherwise, it throws `ended`, or `notConnected` if no connection was
    /// made.
    public var reconnect: WebSocketReconnect? = WebSocketReconnect()
    /// Whether a run throws `notConnected` if its first connection fails. The default is `false`, which means that the
    /// feed tries again.
    public var firstConnectionMustSucceed = false
    /// The timeout for each step of connecting. Must be between 1 and 60 s; the default is 10 s.
    ///
    /// In the first step, the feed reads the secrets and resolves the name, or opens a connection through the proxy. Each address that it then tries is another
    /// step, which lasts until the server has responded.
    public var connectTimeout: Duration = .seconds(10)
    /// How long the connection can be silent before the feed pings the server. Must be between 1 s and 1 h; the default
    /// is 30 s.
    ///
    /// If this is `nil`, the feed sends no pings and may not notice that it has lost the server.
    public var pingAfter: Duration? = .seconds(30)
    /// How long to wait for the answer to a ping. Must be between 1 s and 1 h; the default is 10 s.
    ///
    /// The feed checks this deadline about every half second, and any message counts as an answer. Time during which
    /// reading is paused does not count.
    public var pongWithin: Duration = .seconds(10)
    /// The maximum number of bytes waiting to be sent. Must be between 1 KiB and 1 GiB; the default is 1 MiB.
    ///
    /// Each message counts as its length plus 64 bytes. The feed refuses messages beyond the limit with `full`.
    public var waitingBytes = 1_048_576
    /// The maximum number of calls that wait for the server's answer. Must be between 1 and 10,000; the default is 64.
    ///
    /// Further calls fail with `full`.
    public var callsInFlight = 64
    /// Texts that replace those of the remedies in errors and log lines, for a program without a configuration.
    package var remedies: [FeedRemedy: String] = [:]

    /// Creates a configuration for a feed that reconnects indefinitely.
    public init(source: SourceName, url: WebSocketURL) {
        self.source = source
        self.url = url
    }
}

extension WebSocketFeedConfiguration {
    /// The maximum timeout for a step of connecting, in seconds. The transport's timeout is longer, so this one expires
    /// first.
    static let connectLimit = 60

    /// Checks that every value is valid and that the values are consistent.
    ///
    /// - Throws: ``WebSocketChatError`` `invalidConfiguration` for the first invalid value. The error names the source
    ///   and says how to fix the problem.
    public func validate() throws(WebSocketChatError) {
        do throws(WebSocketChatError) {
            try validateRequest()
            try validateHeaders()
            try validateSecurity()
            try validateMessages()
            try validateTimes()
            try validateProxy()
            try reconnect?.validate()
        } catch {
            throw error.about(source)
        }
    }

    /// The server's address in facts.
    package var peer: String { unixSocket.map { "unix:\($0)" } ?? "\(url.host):\(url.port)" }

    /// Whether the connection stays on this machine.
    package var isLocal: Bool { unixSocket != nil || url.isLocal && proxy?.isLocal ?? true }

    private func validateProxy() throws(WebSocketChatError) {
        guard let proxy else { return }
        guard unixSocket == nil else { throw .invalid("a Unix socket and a proxy exclude each other") }
        try proxy.validate()
    }

    private func validateRequest() throws(WebSocketChatError) {
        guard unixSocket.map(ClientTarget.isSocketPath) ?? true else {
            let limit = UnixAddress.pathLimit
            throw .invalid("the path of a Unix socket must have 1 to \(limit) bytes without control characters")
        }
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
        guard bearer == nil || login == nil else {
            throw .invalid("a request has either a bearer token or a login: leave out one of them")
        }
        if let problem = login?.problem { throw .invalid(problem) }
        let authorization = bearer.map { _ in "the bearer token" } ?? login.map { _ in "the login" }
        var names: Set<String> = []
        for header in headers {
            if let problem = header.problem(authorization: authorization) { throw .invalid("the header \(problem)") }
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
        guard (1...10_000).contains(callsInFlight) else { throw .invalid("the calls in flight must be 1 to 10000") }
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

/// How long to wait before reconnecting.
///
/// Each delay is chosen at random between zero and a ceiling, so that clients do not all reconnect at the same time
/// when their server restarts. The ceiling starts at ``first`` and doubles until it reaches ``cap``. It returns to
/// ``first`` after a connection that lasted for at least ``holds``.
///
/// The following failures usually mean that the configuration must be changed. After such a failure, the delay is
/// chosen from ``slow`` instead:
///
/// - redirections
/// - the statuses 400, 401, 403, 404, 405, 407, 410 and 426
/// - TLS failures
/// - an unexpected or missing subprotocol
/// - a secret that cannot be read
public struct WebSocketReconnect: Sendable, Hashable {
    /// The initial ceiling. Must be between 1 ms and ``cap``; the default is 0.5 s.
    public var first: Duration
    /// The highest ceiling. Must be at most 1 h; the default is 30 s.
    public var cap: Duration
    /// The range of delays after a configuration error. Must lie between 1 ms and 1 h; the default is 30 to 60 s.
    public var slow: ClosedRange<Duration>
    /// How long a connection must stay open to reset the ceiling. Must be between 0 and 1 h; the default is 10 s.
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
    /// Checks that all values are in range.
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
