#if !MQTT
import Logging
import MQTTPush
import SignalboxCore
import SignalboxRoutes

// Without the trait MQTT, the commands and the language of configurations are the same, but none of these types has a value: whatever
// would create one throws.

extension MQTTPushError {
    fileprivate init(absentFor source: SourceName) {
        self.init(.invalidConfiguration, BuildInformation.Trait.mqtt.absence(for: "a broker"), source: source)
    }
}

/// A source that cannot exist.
struct MQTTPushAdapter: Adapter {
    private let never: Never

    init(_ configuration: MQTTPushConfiguration, logger: Logger) throws(MQTTPushError) {
        throw MQTTPushError(absentFor: configuration.source)
    }

    var configuration: MQTTPushConfiguration { switch never {} }
    var source: SourceName { switch never {} }
    var features: AdapterFeatures { switch never {} }
    var publisher: MQTTPublisher? { switch never {} }
    var subscribedAt: ContinuousClock.Instant? { switch never {} }
    func run(into intake: any Intake) async throws { switch never {} }
    func leaveGroups(of connection: String?, within limit: Duration) async throws(MQTTPushError) -> MQTTGroupDeparture {
        switch never {}
    }
}

/// A publisher that cannot exist.
struct MQTTPublisher: Sendable {
    private let never: Never

    init(_ configuration: MQTTPublisherConfiguration, logger: Logger) throws(MQTTPushError) {
        throw MQTTPushError(absentFor: configuration.source)
    }

    var configuration: MQTTPublisherConfiguration { switch never {} }
    var counts: MQTTPublishCounts { switch never {} }
    func run() async throws { switch never {} }
    @discardableResult
    func publish(_ message: MQTTMessage) async throws(MQTTPublishError) -> MQTTReceipt { switch never {} }
    @discardableResult
    func publish(_ message: MQTTMessage, timeout: Duration) async throws(MQTTPublishError) -> MQTTReceipt {
        switch never {}
    }
    func offer(_ message: MQTTMessage) throws(MQTTPublishError) { switch never {} }
    func request(_ message: MQTTMessage, timeout: Duration) async throws(MQTTPublishError) -> MQTTReply {
        switch never {}
    }
}

/// A session that cannot exist.
struct MQTTSession: Sendable {
    private let never: Never

    init(_ configuration: MQTTPushConfiguration, connection: String? = nil, logger: Logger) throws(MQTTPushError) {
        throw MQTTPushError(absentFor: configuration.source)
    }

    @discardableResult
    func unsubscribe(_ filters: [TopicFilter]) async throws(MQTTPushError) -> Bool { switch never {} }
    func end() async throws(MQTTPushError) -> Bool { switch never {} }
}

extension MQTTPushConfiguration {
    /// Returns nothing: only the adapter reads messages.
    func arrival(of payload: [UInt8], on topic: TopicName, retained: Bool, qos: Int) -> Arrival? { nil }
}
#endif
