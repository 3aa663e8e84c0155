import AdapterSupport
import SignalboxCore

/// The connection settings that the receiving client and the publishing client have in common.
protocol BrokerSettings: Sendable {
    var source: SourceName { get }
    var broker: MQTTBroker { get }
    var unixSocket: String? { get }
    var clientID: MQTTClientID { get }
    var version: MQTTVersion { get }
    var security: MQTTSecurity { get }
    var username: Secret? { get }
    var password: Secret? { get }
    var will: MQTTWill? { get }
    var keepalive: Duration { get }
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
}

extension MQTTPublisherConfiguration: BrokerSettings {
    var logPrefix: String { "publisher: " }
    var farewellLimit: Duration { .seconds(1) }
}

extension BrokerSettings {
    /// Validates the settings that both clients have in common.
    func validateBrokerSettings() throws(MQTTPushError) {
        try security.validate(for: broker)
        try will?.validate()
        guard unixSocket.map(UnixSocketPath.isValid) ?? true else {
            throw .invalid(
                "the path of a Unix socket must have 1 to \(UnixAddress.pathLimit) bytes and no control characters"
            )
        }
        let isKeepaliveValid = keepalive == .zero || keepalive.isWholeSeconds(in: 5...65_535)
        try MQTTPushError.check([
            (password == nil || username != nil, "a password needs a user name"),
            (isKeepaliveValid, "the keepalive must be 0 (none) or a whole number of seconds, 5 to 65535"),
            (.milliseconds(100) ... .seconds(3_600) ~= answerTimeout, "the answer timeout must be 100 ms to 1 h"),
        ])
        try reconnect.validate()
    }
}

/// The path of a Unix socket.
enum UnixSocketPath {
    static func isValid(_ path: String) -> Bool {
        (1...UnixAddress.pathLimit).contains(path.utf8.count)
            && !path.unicodeScalars.contains { $0.properties.generalCategory == .control }
    }
}
