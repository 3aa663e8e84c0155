import Signalbox
import SignalboxCore
import SignalboxRoutes
import WebSocketChat

extension ConfigurationReader {
    func chat(_ value: YAMLValue) -> ChatSection? {
        guard let mapping = value.mapping(.chat) else { return nil }
        let port = mapping.required("port", "0 lets the system choose")?.integer(0...Int(UInt16.max))
        var section = ChatSection(port: port.flatMap(UInt16.init(exactly:)) ?? 0)
        section.address = mapping.optional("address").flatMap(text)
        section.path = mapping.optional("path")?.text()
        section.identity = mapping.optional("identity").flatMap(identity)
        mapping.read("origins", &section.origins, origins)
        mapping.read("absent_origin", &section.absentOrigin, absentOrigin)
        mapping.read("principals", &section.principals, principals)
        section.principalNames = mapping.optional("principals")?.keys ?? []
        mapping.read("query_tokens", &section.queryTokens) { $0.flag() }
        mapping.read("subprotocols", &section.subprotocols, texts)
        mapping.read("frames", &section.frames, frames)
        mapping.read("compression", &section.compression) { $0.flag() }
        mapping.read("answers", &section.answers) { $0.flag() }
        mapping.read("announce_connections", &section.announcesConnections) { $0.flag() }
        mapping.read("tags", &section.tags, texts)
        section.bounds = chatBounds(mapping)
        mapping.read("pages", &section.pages, pages)
        mapping.read("health_path", &section.health) { path in
            path.isKeyword("none") ? ChatSection.HealthPath.none : path.text().map(ChatSection.HealthPath.path)
        }
        checkReachability(section, mapping)
        return port == nil ? nil : section
    }

    private func chatBounds(_ mapping: YAMLMapping) -> ChatBounds {
        let times = ConfigurationReader.connectionTimes
        var bounds = ChatBounds()
        bounds.connections = mapping.optional("connections")?.integer(1...1_000_000)
        bounds.httpConnections = mapping.optional("http_connections")?.integer(1...1_000_000)
        bounds.httpConnectionsPerAddress = mapping.optional("http_connections_per_address")?.integer(1...1_000_000)
        bounds.httpRequests = mapping.optional("http_requests")?.integer(1...1_000_000)
        bounds.httpTimeout = mapping.optional("http_timeout")?.duration(times)
        bounds.connectionWindow = mapping.optional("connection_window")?.integer(1...10_000)
        bounds.handshakeTimeout = mapping.optional("handshake_timeout")?.duration(times)
        bounds.messageTimeout = mapping.optional("message_timeout")?.duration(times)
        bounds.idleTimeout = mapping.optional("idle_timeout")?.duration(.seconds(1)...(.seconds(7 * 86_400)))
        bounds.pingAfter = mapping.optional("ping_after")?.duration(times)
        bounds.silenceLimit = mapping.optional("silence_limit")?.duration(.seconds(1)...(.seconds(2 * 3_600)))
        bounds.waitingBytes = mapping.optional("waiting_bytes")?.size(ConfigurationReader.waitingSizes)
        bounds.allWaitingBytes = mapping.optional("all_waiting_bytes")?.size((1 << 10)...(64 << 30))
        bounds.tagsPerConnection = mapping.optional("tags_per_connection")?.integer(1...1_000)
        return bounds
    }

    private func origins(_ value: YAMLValue) -> [WebOrigin]? {
        value.list()?.compactMap { $0.parsed { try WebOrigin($0) } }
    }

    private func absentOrigin(_ value: YAMLValue) -> WebSocketAbsentOrigin? {
        let keywords = ["with_token", "allowed", "refused"]
        return switch value.keyword(of: keywords, "a way to treat clients that send no Origin") {
        case "with_token": .withToken
        case "allowed": .allowed
        case "refused": .refused
        default: nil
        }
    }

    private func principals(_ value: YAMLValue) -> [WebSocketPrincipal]? {
        value.anyMapping()?.entries.compactMap { entry in
            secret(entry.value, "a token").map { WebSocketPrincipal(entry.name, token: $0) }
        }
    }

    private func pages(_ value: YAMLValue) -> [String: DocumentSection]? {
        let entries = value.anyMapping()?.entries.compactMap { entry -> (String, DocumentSection)? in
            guard let mapping = entry.value.mapping(.document) else { return nil }
            let file = mapping.required("file", "name the file of the document").flatMap(namedFile)
            let type = mapping.required("type", "such as type: text/html; charset=utf-8")?.text()
            guard let file, let type else { return nil }
            return (entry.name, DocumentSection(file: file, contentType: type))
        }
        return entries.map { Dictionary($0) { first, _ in first } }
    }

    /// Reports a server that no client can reach, and warns about one that is open to unintended clients.
    private func checkReachability(_ section: ChatSection, _ mapping: YAMLMapping) {
        let hasMistakes = ["origins", "absent_origin", "principals"].contains { key in
            problems.hasErrors(below: ["\(mapping.value.path).\(key)"])
        }
        if !hasMistakes, !section.isReachable {
            let advice = "principals: { NAME: { env: VARIABLE } }"
            mapping.value.reportError(
                "no client can connect; add clients, such as \(advice), or the 'origins' whose pages may connect",
                .nobodyCanConnect,
                suggestion: advice
            )
        }
        if section.queryTokens {
            mapping.optional("query_tokens")?.warn(
                "logs and proxies may store tokens in URLs; let clients send the header Authorization",
                .tokenInURL,
                suggestion: "false"
            )
        }
        guard !section.isLocal, let address = mapping.optional("address") else { return }
        if section.identity == nil {
            address.warn(
                "other machines can reach it, and without 'identity' anyone on the network path can read all traffic and "
                    + "tokens; add the server's certificate, or let a proxy on this machine terminate TLS",
                .openAddress
            )
        }
        if section.principals.isEmpty {
            address.warn(
                "other machines can reach it without a token, and any program can state an allowed origin; add 'principals'",
                .openAddress
            )
        }
    }
}

extension ConfigurationReader {
    func feed(_ value: YAMLValue) -> FeedSection? {
        guard let mapping = value.mapping(.feed) else { return nil }
        let url = mapping.required("url", "write wss://host/path or { env: NAME }").flatMap(feedURL)
        // Without a URL, the other keys are still read, so that their errors are reported too.
        guard var section = url.map({ FeedSection(url: $0) }) ?? FeedSection.unconnected else { return nil }
        mapping.read("subprotocols", &section.subprotocols, texts)
        section.origin = mapping.optional("origin")?.text()
        mapping.read("headers", &section.headers, headers)
        section.bearer = mapping.optional("bearer").flatMap { secret($0, "a token") }
        mapping.read("trust", &section.trust, trust)
        section.identity = mapping.optional("identity").flatMap(identity)
        mapping.read("opening_messages", &section.openingMessages, openingMessages)
        mapping.read("frames", &section.frames, frames)
        mapping.read("compression", &section.compression) { $0.flag() }
        mapping.read("answers", &section.answers) { $0.flag() }
        mapping.read("announce_connections", &section.announcesConnections) { $0.flag() }
        mapping.read("reconnect", &section.reconnect, reconnect)
        readTimes(of: mapping, into: &section)
        if url != nil { checkTokens(section, mapping) }
        return url == nil ? nil : section
    }

    private func readTimes(of mapping: YAMLMapping, into section: inout FeedSection) {
        let times = ConfigurationReader.connectionTimes
        section.connectTimeout = mapping.optional("connect_timeout")?.duration(.seconds(1)...(.seconds(60)))
        mapping.read("ping_after", &section.ping) { value in
            value.isKeyword("never") ? .never : value.duration(times).map(PingSection.after)
        }
        section.pongWithin = mapping.optional("pong_within")?.duration(times)
        section.waitingBytes = mapping.optional("waiting_bytes")?.size(ConfigurationReader.waitingSizes)
    }

    /// Returns a feed's URL. Messages never repeat it, because it may contain a token.
    private func feedURL(_ value: YAMLValue) -> WebSocketURL? {
        guard let text = text(value), isWithoutSecret(text, "a URL with a secret", at: value) else { return nil }
        return value.checked(text) { try WebSocketURL($0) }
    }

    private func headers(_ value: YAMLValue) -> [WebSocketHeader]? {
        value.anyMapping()?.entries.compactMap { entry in
            if entry.value.isMapping {
                return secret(entry.value, "a secret header").map { WebSocketHeader(entry.name, $0) }
            }
            guard let text = entry.value.text(), isWithoutSecret("\(entry.name): \(text)", "a token", at: entry.value)
            else { return nil }
            return WebSocketHeader(entry.name, .text(text))
        }
    }

    private func openingMessages(_ value: YAMLValue) -> [String]? {
        value.list()?.compactMap { element in
            guard let text = text(element), isWithoutSecret(text, "a message with a secret", at: element) else {
                return nil
            }
            return text
        }
    }

    /// Returns whether the text contains no secret. Literal text in the form of a secret is reported.
    private func isWithoutSecret(_ text: String, _ what: String, at value: YAMLValue) -> Bool {
        guard !value.isMapping, Redaction.redacted(text) != text else { return true }
        reportSecret(what, at: value)
        return false
    }

    func trust(_ value: YAMLValue) -> WebSocketTrust? {
        guard value.isMapping else {
            switch value.keyword(of: ["system", "anything"], "a trust setting or a mapping with authority") {
            case "system": return .system
            case "anything":
                value.warn(
                    "no certificate is checked: anyone on the network path can read and change all traffic; to trust your own "
                        + "authority, write { authority: FILE }",
                    .uncheckedCertificate,
                    suggestion: "{ authority: FILE }"
                )
                return .anything
            default: return nil
            }
        }
        guard let mapping = value.mapping(.trust) else { return nil }
        return mapping.required("authority", "name the file of its certificate (PEM)").flatMap(namedFile)
            .map { .authority(file: $0) }
    }

    private func reconnect(_ value: YAMLValue) -> WebSocketReconnect?? {
        if value.isKeyword("never") { return .some(nil) }
        guard let mapping = value.mapping(.reconnect) else { return nil }
        var reconnect = WebSocketReconnect()
        mapping.read("first", &reconnect.first) { $0.duration(ConfigurationReader.waits) }
        mapping.read("cap", &reconnect.cap) { $0.duration(ConfigurationReader.waits) }
        mapping.read("slow", &reconnect.slow, slowWaits)
        mapping.read("holds", &reconnect.holds) { $0.duration(.zero...(.seconds(3_600))) }
        return reconnect
    }

    private func slowWaits(_ value: YAMLValue) -> ClosedRange<Duration>? {
        guard let mapping = value.mapping(.waits) else { return nil }
        let advice = "set the range of waits, such as { from: 30s, to: 60s }"
        let from = mapping.required("from", advice)?.duration(ConfigurationReader.waits)
        let to = mapping.required("to", advice)?.duration(ConfigurationReader.waits)
        guard let from, let to else { return nil }
        guard from <= to else {
            value.reportError("'from' is greater than 'to'; swap them")
            return nil
        }
        return from...to
    }

    private static let waits: ClosedRange<Duration> = .milliseconds(1)...(.seconds(3_600))
}

extension FeedSection {
    /// A stand-in for a section with an invalid URL.
    fileprivate static let unconnected = (try? WebSocketURL("ws://127.0.0.1/")).map { FeedSection(url: $0) }
}

/// Settings that feeds and chats share.
extension ConfigurationReader {
    /// The range of a WebSocket connection's timeouts.
    static let connectionTimes: ClosedRange<Duration> = .seconds(1)...(.seconds(3_600))
    /// The range of the number of unsent bytes on one connection.
    static let waitingSizes = (1 << 10)...(1 << 30)

    func frames(_ value: YAMLValue) -> WebSocketFrames? {
        guard let mapping = value.mapping(.frames) else { return nil }
        var frames = WebSocketFrames()
        mapping.read("text", &frames.text, textFrames)
        frames.binary = mapping.optional("binary").flatMap(action(namedBy:))
        mapping.read("batch", &frames.batch) { $0.integer(1...10_000) }
        return frames
    }

    private func textFrames(_ value: YAMLValue) -> WebSocketFrames.Text? {
        guard value.isMapping else {
            return envelope(value).map { .envelope($0.payloadEnvelope) }
        }
        guard let mapping = value.mapping(.textFrames) else { return nil }
        let kinds = [PayloadKind.json, .text].map(\.rawValue)
        let payload = mapping.optional("payload").map { $0.keyword(of: kinds, "a kind of text") } ?? "json"
        let action = mapping.required("action", "name the action of each text, such as action: tick")
            .flatMap(action(namedBy:))
        guard let action, let kind = payload.flatMap(PayloadKind.init(rawValue:)) else { return nil }
        return .action(action, kind)
    }

    private func action(namedBy value: YAMLValue) -> ActionName? {
        let action = value.parsed(.badName) { try ActionName($0) }
        if let action { locations.actions.append((action, value)) }
        return action
    }

    func identity(_ value: YAMLValue) -> WebSocketIdentity? {
        guard let mapping = value.mapping(.identity) else { return nil }
        let certificate = mapping.required("certificate", "name the file of the certificate (PEM)").flatMap(namedFile)
        let keyValue = mapping.required("key", "name the file of its private key (PEM)")
        let key = keyValue.flatMap(namedFile)
        if let key, let keyValue { checkFilePermissions(key, at: keyValue) }
        guard let certificate, let key else { return nil }
        return WebSocketIdentity(certificateFile: certificate, keyFile: key)
    }

    /// Returns a list of texts, without invalid elements.
    func texts(_ value: YAMLValue) -> [String]? {
        value.list()?.compactMap { $0.text() }
    }
}
