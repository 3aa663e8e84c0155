import MQTTPush
import SignalboxCore

/// What `publish` was asked for, checked.
struct PublishRequest: Sendable {
    static let source: SourceName = "publisher"
    /// The most bytes of a payload.
    static let payloadLimit = 64 << 20
    /// The most bytes of a line that is a message.
    static let lineLimit = 8 << 20

    /// Where payloads come from.
    enum Payload: Sendable, Hashable {
        case text(String)
        case file(String)
        case standardInput
        /// One message for each line of stdin.
        case lines
    }

    let login: BrokerLogin
    /// The messages, but for what they say.
    let message: MQTTMessage
    let payload: Payload
    let timeout: Duration?

    /// The publisher, with a client id that nobody else has.
    var publisher: MQTTPublisherConfiguration {
        var publisher = MQTTPublisherConfiguration(source: PublishRequest.source, broker: login.broker)
        login.apply(to: &publisher)
        if payload != .lines { publisher.queuedBytes = 2 * PublishRequest.payloadLimit }
        if let timeout { publisher.publishTimeout = min(max(timeout, .milliseconds(10)), .seconds(3_600)) }
        return publisher
    }
}
