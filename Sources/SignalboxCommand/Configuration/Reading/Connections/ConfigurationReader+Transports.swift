import MQTTPush
import SignalboxCore

/// The brokers of a source as a configuration gives them.
struct GivenBrokers {
    /// All brokers. There is at least one.
    fileprivate(set) var addresses: [MQTTBroker] = []
    /// Whether the addresses of some brokers are not read. A stand-in is then among ``addresses``.
    fileprivate(set) var areSomeUnread = false
}

/// Reads how a source reaches its brokers.
extension ConfigurationReader {
    /// Returns the brokers, which are written as a list of URLs, or as one.
    func brokers(_ value: YAMLValue) -> GivenBrokers? {
        guard let list = value.elements("broker: mqtt://HOST") else { return nil }
        guard !list.isEmpty else {
            return value.refused("list at least one broker, such as mqtts://broker.example", .missingKey)
        }
        guard list.count <= 16 else { return value.refused("a source can have at most 16 brokers") }
        var given = GivenBrokers()
        var found: [(index: Int, broker: MQTTBroker)] = []
        var hasMistake = false
        for (index, element) in list.enumerated() {
            switch self.given(element) {
            case .invalid: hasMistake = true
            case .unread: given.areSomeUnread = true
            case .text(let text):
                if let broker = broker(text, at: element), isInKeeping(broker, with: found, at: element) {
                    found.append((index, broker))
                } else {
                    hasMistake = true
                }
            }
        }
        guard !hasMistake else { return nil }
        given.addresses = found.map(\.broker)
        if given.areSomeUnread { given.addresses += ConfigurationReader.standIn(for: given.addresses) }
        return given
    }

    /// Reads a broker's URL. Messages never repeat it, because it may contain a password.
    private func broker(_ text: String, at value: YAMLValue) -> MQTTBroker? {
        let broker = value.checked { try MQTTBroker(url: text) }
        guard broker != nil, isWithoutSecret(text, "a URL with a secret", at: value) else { return nil }
        return broker
    }

    /// Reports a broker that cannot be in one list with others.
    private func isInKeeping(
        _ broker: MQTTBroker,
        with others: [(index: Int, broker: MQTTBroker)],
        at value: YAMLValue
    ) -> Bool {
        if let same = others.first(where: { $0.broker == broker }) {
            value.reportError("it is the same as broker[\(same.index)]; remove one of them", .conflictingKeys)
            return false
        }
        guard let first = others.first, first.broker.usesTLS != broker.usesTLS else { return true }
        value.reportError(
            "it is \(broker.schemeText) and broker[\(first.index)] is \(first.broker.schemeText), but all brokers get the "
                + "same login; use TLS (mqtts:// or wss://) for all of them or for none",
            .conflictingKeys
        )
        return false
    }

    /// Returns a broker with which every setting is valid that may be valid for the broker that is not read.
    private static func standIn(for others: [MQTTBroker]) -> [MQTTBroker] {
        let usesTLS = others.first?.usesTLS ?? true
        return (try? MQTTBroker(host: unreadHost, usesTLS: usesTLS, webSocketPath: "/")).map { [$0] } ?? []
    }

    /// Reads the settings for connecting to the brokers.
    ///
    /// - Parameter brokers: The brokers, or `nil` if one of them has an error, which was already reported.
    func readTransport(of keys: YAMLMapping, to brokers: GivenBrokers?, into push: inout MQTTPushConfiguration) {
        keys.read("broker_order", &push.brokerOrder) { $0.keyword("an order of brokers") }
        keys.read("proxy", &push.proxy, proxy)
        keys.read("headers", &push.headers) { headers($0, MQTTHeader.init) }
        keys.read("alpn", &push.alpn) { value in value.isList && value.list()?.isEmpty == true ? [] : texts(value) }
        keys.read("connect_timeout", &push.connectTimeout) { $0.duration(.milliseconds(100)...(.seconds(3_600))) }
        guard let brokers, !brokers.areSomeUnread else { return }
        removeUnusable(&push, keys, brokers)
    }

    /// Reports settings that the brokers' transports do not have, and removes them, so that the adapter does not report them
    /// again.
    private func removeUnusable(_ push: inout MQTTPushConfiguration, _ keys: YAMLMapping, _ brokers: GivenBrokers) {
        let scheme = brokers.addresses.first?.schemeText ?? ""
        if let headers = keys.optional("headers"), !brokers.addresses.contains(where: \.isWebSocket) {
            headers.reportError(
                "headers belong to the request for a WebSocket, and the broker's URL is \(scheme); write ws://host/path or "
                    + "wss://host/path, or remove 'headers'",
                .conflictingKeys
            )
            push.headers = []
        }
        if let alpn = keys.optional("alpn"), !(push.alpn ?? []).isEmpty, !brokers.addresses.allSatisfy(\.usesTLS) {
            alpn.reportError(ConfigurationReader.needsTLS("alpn", brokers.addresses), .conflictingKeys)
            push.alpn = nil
        }
        if let proxy = keys.optional("proxy"), brokers.addresses.allSatisfy(\.isUnixSocket) {
            let message = "a Unix socket is on this machine, so no proxy leads to it; remove 'proxy'"
            proxy.reportError(message, .conflictingKeys)
            push.proxy = nil
        }
    }

    /// Returns the message about a key that requires TLS.
    static func needsTLS(_ key: String, _ brokers: [MQTTBroker]) -> String {
        guard let broker = brokers.first, let scheme = broker.secureScheme else {
            return "the broker is a Unix socket, which has no TLS; remove '\(key)'"
        }
        return "the broker's URL is \(broker.schemeText); '\(key)' requires \(scheme)://"
    }
}

extension MQTTBroker {
    /// The beginning of the broker's URL.
    fileprivate var schemeText: String { isUnixSocket ? "unix:" : "\(scheme)://" }
}
