import SignalboxCore

/// What any client of a broker is told before it connects: as whom, where, and how protected.
struct BrokerLogin {
    let source: SourceName
    let broker: MQTTBroker
    let clientID: MQTTClientID
    let version: MQTTVersion
    let security: MQTTSecurity
    let username: Secret?
    let password: Secret?
    let will: MQTTWill?
    let keepalive: Duration
}

extension BrokerLogin {
    /// That of the receiving client.
    init(_ configuration: MQTTPushConfiguration) {
        self.init(
            source: configuration.source,
            broker: configuration.broker,
            clientID: configuration.clientID,
            version: configuration.version,
            security: configuration.security,
            username: configuration.username,
            password: configuration.password,
            will: configuration.will,
            keepalive: configuration.keepalive
        )
    }
}
