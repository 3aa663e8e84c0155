import AdapterSupport
import SignalboxCore

/// The settings of a connection to a broker, which the receiving and the publishing client share.
protocol BrokerSettings: Sendable {
    var source: SourceName { get }
    var broker: MQTTBroker { get }
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
}

extension MQTTPushConfiguration: BrokerSettings {}
extension MQTTPublisherConfiguration: BrokerSettings {}

extension BrokerSettings {
    /// Validates the settings that both clients share.
    func validateBrokerSettings() throws(MQTTPushError) {
        try security.validate(for: broker)
        try will?.validate()
        if password != nil && username == nil { throw .invalid("a password needs a user name") }
        guard keepalive == .zero || keepalive.isWholeSeconds(in: 5...65_535) else {
            throw .invalid("the keepalive must be 0 (none) or a whole number of seconds, 5 to 65535")
        }
        guard (Duration.milliseconds(100) ... .seconds(3_600)).contains(answerTimeout) else {
            throw .invalid("the answer timeout must be 100 ms to 1 h")
        }
        try reconnect.validate()
    }
}
