import MQTTPush
import SignalboxCore

/// A broker, and how to connect and log in there.
struct BrokerLogin: Sendable, Hashable {
    let broker: MQTTBroker
    let version: MQTTVersion
    let security: MQTTSecurity
    let user: String?
    let password: Secret?
    /// Whether a first connection that fails is tried again.
    let retries: Bool

    /// Takes it over into a source's configuration.
    func apply(to push: inout MQTTPushConfiguration) {
        push.version = version
        push.security = security
        push.username = user.map(Secret.text)
        push.password = password
        push.firstConnectionMustSucceed = !retries
    }

    /// Takes it over into a publisher's configuration.
    func apply(to publisher: inout MQTTPublisherConfiguration) {
        publisher.version = version
        publisher.security = security
        publisher.username = user.map(Secret.text)
        publisher.password = password
        publisher.firstConnectionMustSucceed = !retries
    }
}
