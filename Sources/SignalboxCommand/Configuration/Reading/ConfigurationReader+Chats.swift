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
        mapping.read("origins", into: &section.origins, origins)
        mapping.read("absent_origin", into: &section.absentOrigin, absentOrigin)
        mapping.read("principals", into: &section.principals, principals)
        section.principalNames = mapping.optional("principals")?.keys ?? []
        mapping.read("query_tokens", into: &section.queryTokens) { $0.flag() }
        mapping.read("subprotocols", into: &section.subprotocols, texts)
        mapping.read("frames", into: &section.frames, frames)
        mapping.read("compression", into: &section.compression) { $0.flag() }
        mapping.read("answers", into: &section.answers) { $0.flag() }
        mapping.read("announce_connections", into: &section.announcesConnections) { $0.flag() }
        mapping.read("tags", into: &section.tags, texts)
        section.bounds = chatBounds(mapping)
        mapping.read("pages", into: &section.pages, pages)
        mapping.read("health_path", into: &section.health) { path in
            path.isWord("none") ? ChatSection.HealthPath.none : path.text().map(ChatSection.HealthPath.path)
        }
        compareReach(section, mapping)
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
        value.list()?.compactMap { $0.parsed { (text) throws(URLTextError) in try WebOrigin(text) } }
    }

    private func absentOrigin(_ value: YAMLValue) -> WebSocketAbsentOrigin? {
        let words = ["with_token", "allowed", "refused"]
        return switch value.word(of: words, meaning: "a way with clients that send no Origin") {
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

    /// Notes a server to which nobody can connect, and one to which somebody can whom nobody meant.
    private func compareReach(_ section: ChatSection, _ mapping: YAMLMapping) {
        let hasMistakes = ["origins", "absent_origin", "principals"].contains { key in
            problems.hasErrors(below: ["\(mapping.value.path).\(key)"])
        }
        if !hasMistakes, !section.isReachable {
            let advice = "principals: { NAME: { env: VARIABLE } }"
            mapping.value.complain(
                "nobody can connect: name who may, as with \(advice), or the 'origins' whose pages may",
                .nobodyCanConnect,
                suggestion: advice
            )
        }
        if section.queryTokens {
            mapping.optional("query_tokens")?.warn(
                "tokens in URLs are kept by logs and proxies on the way; let clients send the header Authorization",
                .tokenInURL,
                suggestion: "false"
            )
        }
        guard !section.isLocal, let address = mapping.optional("address") else { return }
        if section.identity == nil {
            address.warn(
                "others than this machine can reach it, and without 'identity' everything, tokens too, is readable on the "
                    + "way; add the server's certificate, or let a proxy on this machine do TLS",
                .openAddress
            )
        }
        if section.principals.isEmpty {
            address.warn(
                "others than this machine can reach it, and no token is asked for: any program can name an allowed origin; "
                    + "add 'principals'",
                .openAddress
            )
        }
    }
}
