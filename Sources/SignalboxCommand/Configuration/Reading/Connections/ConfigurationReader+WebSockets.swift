import Signalbox
import SignalboxCore
import SignalboxRoutes
import WebSocketChat

extension ConfigurationReader {
    func chat(_ value: YAMLValue, of name: SourceName, _ limits: MessageLimits) -> ChatSource? {
        value.mapping("chat") { keys in
            var server = WebSocketServerConfiguration(source: name, port: 0)
            server.limits = limits
            let listener = chatListener(keys, &server)
            keys.read("path", &server.path) { $0.text() }
            let hasMistakes = !readClients(of: keys, into: &server)
            keys.read("query_tokens", &server.queryTokens) { $0.flag() }
            keys.read("subprotocols", &server.subprotocols, texts)
            keys.read("frames", &server.frames, frames)
            keys.read("compression", &server.compression) { $0.flag() }
            keys.read("answers", &server.answers) { $0.flag() }
            keys.read("announce_connections", &server.announcesConnections) { $0.flag() }
            readBounds(of: keys, into: &server)
            var chat = ChatSource(server: server, listener: listener ?? nil)
            keys.read("backplane", &chat.backplane) { backplane($0, of: name) }
            for document in keys.optional("pages").flatMap(documents) ?? [] {
                chat.files[document.path] = document.file
                chat.server.pages[document.path] = WebSocketPage(contentType: document.type, body: [])
            }
            keys.read("health_path", &chat.server.healthPath) {
                $0.isKeyword("none") ? .some(nil) : $0.text().map(Optional.some)
            }
            let isReachable = checkReachability(chat.server, keys, hasMistakes: hasMistakes)
            guard listener != nil else { return nil }
            // If no client can reach the server, that error was already reported.
            if isReachable { value.check { try chat.server.validate() } }
            return chat
        }
    }

    /// The settings that a named listener replaces.
    private static let listenerKeys = [
        "port", "address", "identity", "http_connections", "http_connections_per_address", "http_requests",
        "http_timeout",
        "handshake_timeout", "ping_after", "silence_limit", "all_waiting_bytes",
    ]

    /// Reads where a chat listens.
    ///
    /// - Returns: The named listener, or `nil` within the optional if the chat has one of its own; `nil` if there is an error.
    private func chatListener(_ keys: YAMLMapping, _ server: inout WebSocketServerConfiguration) -> ListenerSection?? {
        if keys.optional("listener") != nil {
            guard let shared = listener(keys, replacing: ConfigurationReader.listenerKeys) else { return nil }
            server.adopt(shared.configuration)
            return .some(shared)
        }
        keys.read("address", &server.address) { text($0, unread: "127.0.0.1") }
        keys.read("identity", &server.identity) { identity($0, WebSocketIdentity.init) }
        let advice = "0 lets the system choose; or name one of the 'listeners' with 'listener'"
        guard let port = keys.required("port", advice)?.integer(0...Int(UInt16.max)) else { return nil }
        server.port = UInt16(clamping: port)
        return .some(nil)
    }

    /// Reads the settings that decide who can connect.
    ///
    /// - Returns: Whether none of them has a mistake.
    private func readClients(of keys: YAMLMapping, into server: inout WebSocketServerConfiguration) -> Bool {
        let before = problems.mistakes
        keys.read("origins", &server.origins) { $0.list()?.compactMap(origin) }
        keys.read("absent_origin", &server.absentOrigin) {
            $0.keyword(
                ["with_token": .withToken, "allowed": .allowed, "refused": .refused],
                "a way to treat clients that send no Origin"
            )
        }
        keys.read("principals", &server.principals, principals)
        return problems.mistakes == before
    }

    private func readBounds(of keys: YAMLMapping, into server: inout WebSocketServerConfiguration) {
        let (times, counts) = (ConfigurationReader.connectionTimes, 1...1_000_000)
        keys.read("connections", &server.connections) { $0.integer(counts) }
        keys.read("http_connections", &server.httpConnections) { $0.integer(counts) }
        keys.read("http_connections_per_address", &server.httpConnectionsPerAddress) { $0.integer(counts) }
        keys.read("http_requests", &server.httpRequests) { $0.integer(counts) }
        keys.read("http_timeout", &server.httpTimeout) { $0.duration(times) }
        keys.read("connection_window", &server.connectionWindow) { $0.integer(1...10_000) }
        keys.read("calls", &server.callsInFlight) { $0.integer(1...10_000) }
        keys.read("handshake_timeout", &server.handshakeTimeout) { $0.duration(times) }
        keys.read("message_timeout", &server.messageTimeout) { $0.duration(times) }
        keys.read("idle_timeout", &server.idleTimeout) { $0.duration(.seconds(1)...(.seconds(7 * 86_400))) }
        keys.read("ping_after", &server.pingAfter) { $0.duration(times) }
        keys.read("silence_limit", &server.silenceLimit) { $0.duration(.seconds(1)...(.seconds(2 * 3_600))) }
        keys.read("waiting_bytes", &server.waitingBytes) { $0.size(ConfigurationReader.waitingSizes) }
        keys.read("all_waiting_bytes", &server.allWaitingBytes) { $0.size((1 << 10)...(64 << 30)) }
        keys.read("tags", &server.tags) { texts($0).map(Set.init) }
        keys.read("tags_per_connection", &server.tagsPerConnection) { $0.integer(1...1_000) }
    }

    func origin(_ value: YAMLValue) -> WebOrigin? { value.parsed { try WebOrigin($0) } }

    func principals(_ value: YAMLValue) -> [WebSocketPrincipal]? {
        value.anyMapping()?.entries.map { entry in
            // If the token has an error, a stand-in is used, because a rule in `from` may still name the principal.
            WebSocketPrincipal(entry.name, token: secret(entry.value, "a token") ?? .environment(""))
        }
    }

    private func documents(_ value: YAMLValue) -> [(path: String, file: String, type: String)]? {
        value.anyMapping()?.entries.compactMap { entry in
            entry.value.mapping("document") { keys in
                let file = keys.required("file", "name the file of the document").flatMap(namedFile)
                let type = keys.required("type", "such as type: text/html; charset=utf-8")?.text()
                guard let file, let type else { return nil }
                return (entry.name, file, type)
            }
        }
    }

    /// Reports a server that no client can reach, and warns about one that is open to unintended clients.
    ///
    /// - Parameter hasMistakes: Whether a setting that decides who can connect has an error, which was already
    ///   reported.
    /// - Returns: Whether a client can reach the server.
    private func checkReachability(
        _ server: WebSocketServerConfiguration,
        _ keys: YAMLMapping,
        hasMistakes: Bool
    ) -> Bool {
        if !hasMistakes, !server.isReachable {
            let advice = "principals: { NAME: { env: VARIABLE } }"
            keys.value.reportError(
                "no client can connect; add clients, such as \(advice), or the 'origins' whose pages may connect, or, if "
                    + "only this machine can reach the port, absent_origin: allowed",
                .nobodyCanConnect,
                advice: advice
            )
        }
        if server.queryTokens {
            keys.optional("query_tokens")?.warn(
                "logs and proxies may store tokens in URLs; let clients send the header Authorization",
                .tokenInURL,
                suggestion: "false"
            )
        }
        if !WebSocketServerConfiguration.isLocal(server.address), let address = keys.optional("address") {
            warnOfOpenAddress(server, at: address)
        }
        return server.isReachable
    }

    private func warnOfOpenAddress(_ server: WebSocketServerConfiguration, at address: YAMLValue) {
        if server.identity == nil {
            address.warn(
                "other machines can reach it, and without 'identity' anyone on the network path can read all traffic and "
                    + "tokens; add the server's certificate, or let a proxy on this machine terminate TLS",
                .openAddress
            )
        }
        if server.principals.isEmpty {
            address.warn(
                "other machines can reach it without a token, and any program can state an allowed origin; add 'principals'",
                .openAddress
            )
        }
    }
}

extension ConfigurationReader {
    func feed(_ value: YAMLValue, of name: SourceName, _ limits: MessageLimits) -> WebSocketFeedConfiguration? {
        value.mapping("feed") { keys in
            let url = keys.required("url", "write wss://host/path or { env: NAME }").flatMap(feedURL)
            // Without a valid URL, the other keys are still read, so that their errors are reported too.
            guard let address = url ?? ConfigurationReader.anyURL else { return nil }
            var feed = WebSocketFeedConfiguration(source: name, url: address)
            feed.limits = limits
            keys.read("unix_socket", &feed.unixSocket, createdFile)
            keys.read("subprotocols", &feed.subprotocols, texts)
            keys.read("origin", &feed.origin) { $0.text() }
            keys.read("headers", &feed.headers) { headers($0, WebSocketHeader.init) }
            keys.read("bearer", &feed.bearer) { secret($0, "a token") }
            keys.read("proxy", &feed.proxy, proxy)
            feed.login = login(keys)
            keys.read("trust", &feed.trust) {
                trust($0, WebSocketTrust.authority, system: .system, anything: .anything)
            }
            keys.read("identity", &feed.identity) { identity($0, WebSocketIdentity.init) }
            keys.read("opening_messages", &feed.openingMessages, openingMessages)
            keys.read("frames", &feed.frames, frames)
            keys.read("compression", &feed.compression) { $0.flag() }
            keys.read("answers", &feed.answers) { $0.flag() }
            keys.read("announce_connections", &feed.announcesConnections) { $0.flag() }
            keys.read("reconnect", &feed.reconnect) {
                $0.isKeyword("never") ? .some(nil) : reconnect($0).map(Optional.some)
            }
            keys.read("connect_timeout", &feed.connectTimeout) { $0.duration(.seconds(1)...(.seconds(60))) }
            let times = ConfigurationReader.connectionTimes
            keys.read("ping_after", &feed.pingAfter) {
                $0.isKeyword("never") ? .some(nil) : $0.duration(times).map(Optional.some)
            }
            keys.read("pong_within", &feed.pongWithin) { $0.duration(times) }
            keys.read("waiting_bytes", &feed.waitingBytes) { $0.size(ConfigurationReader.waitingSizes) }
            keys.read("calls", &feed.callsInFlight) { $0.integer(1...10_000) }
            guard url != nil else { return nil }
            checkTokens(feed, keys)
            value.check { try feed.validate() }
            return feed
        }
    }

    /// Stands in for an invalid URL.
    private static let anyURL = try? WebSocketURL("ws://127.0.0.1/")

    /// Returns a feed's URL. Messages never repeat the URL, because it may contain a token.
    private func feedURL(_ value: YAMLValue) -> WebSocketURL? {
        guard let text = text(value, unread: "wss://\(ConfigurationReader.unreadHost)/"),
            isWithoutSecret(text, "a URL with a secret", at: value)
        else { return nil }
        return value.checked { try WebSocketURL(text) }
    }

    private func openingMessages(_ value: YAMLValue) -> [String]? {
        value.list()?.compactMap { element in
            guard let text = text(element), isWithoutSecret(text, "a message with a secret", at: element) else {
                return nil
            }
            return text
        }
    }

    /// Returns an adapter's setting for which servers it trusts.
    ///
    /// - Parameter authority: Returns the setting that makes the adapter trust only the authority in a file.
    func trust<Trust>(
        _ value: YAMLValue,
        _ authority: (_ file: String) -> Trust,
        system: Trust,
        anything: Trust
    ) -> Trust? {
        guard value.isMapping else {
            switch value.keyword(of: ["system", "anything"], "a trust setting or a mapping with authority") {
            case "system": return system
            case "anything":
                value.warn(
                    "no certificate is checked: anyone on the network path can read and change all traffic; to trust your own "
                        + "authority, write { authority: FILE }",
                    .uncheckedCertificate,
                    advice: "{ authority: FILE }"
                )
                return anything
            default: return nil
            }
        }
        return value.mapping("trust") { keys in
            keys.required("authority", "name the file of its certificate (PEM)").flatMap(namedFile).map(authority)
        }
    }

    private func reconnect(_ value: YAMLValue) -> WebSocketReconnect? {
        value.mapping("reconnect", changing: WebSocketReconnect()) { keys, reconnect in
            keys.read("first", &reconnect.first) { $0.duration(ConfigurationReader.waits) }
            keys.read("cap", &reconnect.cap) { $0.duration(ConfigurationReader.waits) }
            keys.read("slow", &reconnect.slow, slowWaits)
            keys.read("holds", &reconnect.holds) { $0.duration(.zero...(.seconds(3_600))) }
        }
    }

    private func slowWaits(_ value: YAMLValue) -> ClosedRange<Duration>? {
        value.mapping("waits") { keys in
            let advice = "set the range of waits, such as { from: 30s, to: 60s }"
            let from = keys.required("from", advice)?.duration(ConfigurationReader.waits)
            let to = keys.required("to", advice)?.duration(ConfigurationReader.waits)
            guard let from, let to else { return nil }
            guard from <= to else {
                return value.refused("'from' is greater than 'to'; swap them")
            }
            return from...to
        }
    }

    private static let waits: ClosedRange<Duration> = .milliseconds(1)...(.seconds(3_600))
}

extension WebSocketFeedConfiguration {
    /// Whether the URL is that of the server, and not a stand-in for one that is not read.
    var isURLRead: Bool { url.host != ConfigurationReader.unreadHost }
}

/// Reads the settings that feeds and chats share.
extension ConfigurationReader {
    /// The valid range for timeouts on a WebSocket connection.
    static let connectionTimes: ClosedRange<Duration> = .seconds(1)...(.seconds(3_600))
    /// The valid range for the number of unsent bytes on one connection.
    static let waitingSizes = (1 << 10)...(1 << 30)

    private func frames(_ value: YAMLValue) -> WebSocketFrames? {
        value.mapping("frames", changing: WebSocketFrames()) { keys, frames in
            keys.read("text", &frames.text, textFrames)
            keys.read("binary", &frames.binary) { action(namedBy: $0) }
            keys.read("batch", &frames.batch) { $0.integer(1...10_000) }
        }
    }

    private func textFrames(_ value: YAMLValue) -> WebSocketFrames.Text? {
        guard value.isMapping else { return envelope(value).map { .envelope($0) } }
        return value.mapping("textFrames") { keys in
            let advice = "name the action of each text, such as action: tick"
            let action = keys.required("action", advice).flatMap { self.action(namedBy: $0) }
            var kind = PayloadKind.json
            keys.read("payload", &kind) { $0.keyword(["json": .json, "text": .text], "a kind of text") }
            return action.map { .action($0, kind) }
        }
    }

    /// Returns the name of an action that a plugin should handle.
    ///
    /// - Parameter pattern: The pattern of the topic or the link route whose messages have the action, if any.
    func action(namedBy value: YAMLValue, on pattern: String? = nil) -> ActionName? {
        let action = value.parsed(.badName) { try ActionName($0) }
        if let action { locations.actions.append(FixedAction(name: action, pattern: pattern, value: value)) }
        return action
    }

    /// Returns an adapter's certificate together with its private key.
    func identity<Identity>(
        _ value: YAMLValue,
        _ make: (_ certificateFile: String, _ keyFile: String) -> Identity
    ) -> Identity? {
        value.mapping("identity") { keys in
            let certificate = keys.required("certificate", "name the file of the certificate (PEM)").flatMap(namedFile)
            let keyValue = keys.required("key", "name the file of its private key (PEM)")
            let key = keyValue.flatMap { namedFile($0, isSecret: true) }
            if let key, let keyValue { checkFilePermissions(key, at: keyValue) }
            guard let certificate, let key else { return nil }
            return make(certificate, key)
        }
    }

    /// Returns the valid texts in a list. A text stands for a list of one. Invalid elements are left out.
    func texts(_ value: YAMLValue) -> [String]? {
        value.elements("[TEXT]")?.compactMap { $0.text() }
    }
}
