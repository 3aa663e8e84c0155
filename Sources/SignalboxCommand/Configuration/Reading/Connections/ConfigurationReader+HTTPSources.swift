import AdapterSupport
import HTTPActions
import SignalboxCore
import SignalboxRoutes
import WebSocketChat

extension ConfigurationReader {
    func requests(_ value: YAMLValue, of name: SourceName, _ limits: MessageLimits) -> HTTPSource? {
        value.mapping("httpSource") { keys -> HTTPSource? in
            var server = HTTPActionConfiguration(source: name)
            server.limits = limits
            let listener = listener(keys, replacing: ["port", "address", "identity"])
            let before = problems.mistakes
            keys.read("routes", &server.routes, requestRoutes)
            keys.read("principals", &server.principals, principals)
            keys.read("signatures", &server.signatures, signatures)
            keys.read("anyone", &server.allowsAnyone) { $0.flag() }
            keys.read("addresses", &server.addresses, addresses)
            keys.read("origins", &server.origins) { $0.list()?.compactMap(origin) }
            keys.read("room_timeout", &server.roomTimeout) { $0.duration(.milliseconds(1)...(.seconds(3_600))) }
            keys.read("waiting", &server.waiting) { $0.integer(1...1_000_000) }
            keys.read("streams", &server.streams) { $0.integer(0...1_000_000) }
            keys.read("heartbeat", &server.heartbeat) { $0.duration(ConfigurationReader.connectionTimes) }
            guard problems.mistakes == before else { return nil }
            guard checkReachability(server, listener, keys), let listener else { return nil }
            let isValid = value.check { try server.validate() }
            return isValid ? HTTPSource(server: server, listener: listener) : nil
        }
    }

    private func requestRoutes(_ value: YAMLValue) -> [HTTPActionRoute]? {
        value.elements("['/{action}']")?.compactMap { element in
            guard element.isMapping else { return path(element).map { HTTPActionRoute($0) } }
            return element.mapping("requestRoute") { keys in
                let pattern = keys.required("path", "such as /hooks/{provider}/{action}").flatMap(path)
                var payload = HTTPActionPayload.contentType
                let action = keys.optional("action").flatMap { self.action(namedBy: $0, on: pattern?.text) }
                keys.read("payload", &payload) {
                    $0.keyword(
                        ["content_type": .contentType, "json": .json, "text": .text, "bytes": .bytes],
                        "what a body is read as"
                    )
                }
                return pattern.map { HTTPActionRoute($0, action: action, payload: payload) }
            }
        }
    }

    private func path(_ value: YAMLValue) -> URLPattern? {
        value.parsed(.badPattern) { try URLPattern($0) }
    }

    private func signatures(_ value: YAMLValue) -> [HTTPActionSignature]? {
        value.anyMapping()?.entries.compactMap { entry in
            entry.value.mapping("requestSignature") { keys in
                let scheme = keys.required("scheme", "signalbox, stripe, github or slack")?.keyword(
                    [
                        "signalbox": HTTPActionSignature.Scheme.signalbox, "stripe": .stripe, "github": .github,
                        "slack": .slack,
                    ],
                    "a scheme of signatures"
                )
                let key = keys.required("key", "reference it, such as { file: FILE }").flatMap { secret($0, "a key") }
                var signature = HTTPActionSignature(
                    entry.name,
                    scheme: scheme ?? .signalbox,
                    key: key ?? .environment("")
                )
                keys.read("tolerance", &signature.tolerance) { $0.duration(.seconds(1)...(.seconds(86_400))) }
                return scheme == nil ? nil : signature
            }
        }
    }

    private func addresses(_ value: YAMLValue) -> [AddressRange]? {
        value.elements("[10.0.0.0/8]")?.compactMap { element in
            guard let text = text(element, unread: "127.0.0.1") else { return nil }
            if let range = AddressRange(text) { return range }
            return element.refused(
                "'\(text.prefix(80))' is no address and no range such as 10.0.0.0/8 or 2001:db8::/32"
            )
        }
    }

    /// Reports a source to which no client can send, and warns about one that is open to unintended clients.
    private func checkReachability(
        _ server: HTTPActionConfiguration,
        _ listener: ListenerSection?,
        _ keys: YAMLMapping
    ) -> Bool {
        guard server.isReachable else {
            let advice = "principals: { NAME: { env: VARIABLE } }"
            return keys.value.refused(
                "no client can send; add clients, such as \(advice), or 'signatures', or, if only trusted clients can reach the "
                    + "port, anyone: true",
                .nobodyCanConnect,
                advice: advice
            ) ?? false
        }
        let isLocal = listener.map { WebSocketServerConfiguration.isLocal($0.configuration.address) } ?? true
        if server.allowsAnyone, server.addresses.isEmpty, !isLocal {
            keys.optional("anyone")?.warn(
                "other machines can reach the port, and anyone who does can send; add 'principals', 'signatures' or 'addresses'",
                .openAddress
            )
        }
        return true
    }
}
