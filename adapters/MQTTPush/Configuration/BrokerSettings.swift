import AdapterSupport
import SignalboxCore

/// The connection settings that the receiving client and the publishing client have in common.
protocol BrokerSettings: Sendable {
    var source: SourceName { get }
    /// The broker, or the one that an attempt to connect is for.
    var broker: MQTTBroker { get set }
    var furtherBrokers: [MQTTBroker] { get }
    var brokerOrder: MQTTBrokerOrder { get }
    var proxy: MQTTProxy? { get }
    var headers: [MQTTHeader] { get }
    var alpn: [String]? { get }
    var clientID: MQTTClientID { get }
    var version: MQTTVersion { get }
    var security: MQTTSecurity { get }
    var username: Secret? { get }
    var password: Secret? { get }
    var will: MQTTWill? { get }
    var authentication: MQTTAuthenticator? { get }
    var connectProperties: [MQTTMessage.UserProperty] { get }
    /// Whether the broker keeps the session when the connection ends.
    var keepsSession: Bool { get }
    var keepalive: Duration { get }
    var connectTimeout: Duration { get }
    var answerTimeout: Duration { get }
    var reconnect: MQTTReconnect { get }
    var firstConnectionMustSucceed: Bool { get }
    /// Texts that replace those of the remedies in errors and log lines.
    var remedies: [BrokerRemedy: String] { get }
    /// How long the end of a connection waits for the broker to take the last packets.
    var farewellLimit: Duration { get }
    /// The prefix of this client's log lines, which distinguishes them from those of the source's other clients.
    var logPrefix: String { get }
}

extension MQTTPushConfiguration: BrokerSettings {
    var logPrefix: String { connectionName.map { "connection \($0): " } ?? "" }
    var farewellLimit: Duration { lingerTimeout }
    var keepsSession: Bool { sessionExpiry > .zero }
}

extension MQTTPublisherConfiguration: BrokerSettings {
    var logPrefix: String { "publisher: " }
    var farewellLimit: Duration { .seconds(1) }
    var keepsSession: Bool { false }
}

extension BrokerSettings {
    /// Validates the settings that both clients have in common.
    func validateBrokerSettings() throws(MQTTPushError) {
        try validateBrokers()
        try will?.validate(for: version, keepsSession: keepsSession)
        let isKeepaliveValid = keepalive == .zero || keepalive.isWholeSeconds(in: 5...65_535)
        try MQTTPushError.check([
            (authentication == nil || version == .v5, "MQTT 3.1.1 has no enhanced authentication: use MQTT 5"),
            (password == nil || username != nil, "a password needs a user name"),
            (isKeepaliveValid, "the keepalive must be 0 (none) or a whole number of seconds, 5 to 65535"),
            (.milliseconds(100) ... .seconds(3_600) ~= connectTimeout, "the connect timeout must be 100 ms to 1 h"),
            (.milliseconds(100) ... .seconds(3_600) ~= answerTimeout, "the answer timeout must be 100 ms to 1 h"),
        ])
        try reconnect.validate()
        try MQTTMessage.UserProperty.validate(connectProperties, for: version)
    }

    /// All brokers, beginning with ``broker``.
    var brokers: [MQTTBroker] { [broker] + furtherBrokers }

    /// Whether each broker, and the proxy if it is used, is on this machine.
    var isLocal: Bool {
        brokers.allSatisfy { broker in
            if case .unixSocket = broker.transport { true } else { broker.isLocal && proxy?.isLocal ?? true }
        }
    }

    private func validateBrokers() throws(MQTTPushError) {
        guard furtherBrokers.count <= 15 else { throw .invalid("a client can have at most 16 brokers") }
        guard furtherBrokers.allSatisfy({ $0.usesTLS == broker.usesTLS }) else {
            throw .invalid("either all brokers of a client use TLS or none, because they get the same login")
        }
        guard Set(brokers).count == brokers.count else { throw .invalid("a broker is listed twice") }
        try security.validate(for: broker)
        try proxy?.validate()
        guard headers.isEmpty || brokers.contains(where: \.isWebSocket) else {
            throw .invalid("headers need a WebSocket: a broker of ws:// or wss://")
        }
        try MQTTHeader.validate(headers)
        guard let alpn else { return }
        try MQTTPushError.check([
            (broker.usesTLS || alpn.isEmpty, "application protocols need TLS: a broker of mqtts:// or wss://"),
            (alpn.count <= 16, "a client can offer at most 16 application protocols"),
            (alpn.allSatisfy { 1...255 ~= $0.utf8.count }, "an application protocol must have 1 to 255 bytes"),
        ])
    }
}
