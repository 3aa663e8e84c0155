import AdapterSupport
public import SignalboxCore
public import SignalboxRoutes

/// The configuration of a publisher: its connection and its limits.
public struct MQTTPublisherConfiguration: Sendable {
    /// The source named in log lines.
    public var source: SourceName
    /// The broker.
    public var broker: MQTTBroker
    /// The id by which the broker identifies the publisher; a random one by default. It needs no session.
    public var clientID: MQTTClientID
    /// The protocol version; 5 by default. An MQTT 3.1.1 broker cannot report that it refused a message, and requests
    /// have no response topic.
    public var version: MQTTVersion = .v5
    /// The security of the connection: for an `mqtts://` broker, TLS with the system's trust store by default.
    public var security: MQTTSecurity
    /// The user name, read at each connection; none by default.
    public var username: Secret?
    /// The password, read at each connection; requires a user name; none by default.
    public var password: Secret?
    /// The message that the broker publishes if the connection ends without DISCONNECT; none by default.
    public var will: MQTTWill?
    /// The maximum time without traffic before a ping, in whole seconds: 0 (no pings) or 5 to 65,535; 30 s by default.
    public var keepalive: Duration = .seconds(30)
    /// The maximum number of queued and unacknowledged messages, 1 to 1,000,000; 1,000 by default. Further messages
    /// fail with `queueFull` and are never dropped.
    public var queuedMessages = 1_000
    /// The maximum total size of these messages in bytes, 1 KiB to 1 GiB; 16 MiB by default. Counts payloads, topics
    /// and properties. Further messages fail with `queueFull`; a single larger message fails with `tooLarge`.
    public var queuedBytes = 16 * 1_024 * 1_024
    /// The maximum number of sent but unacknowledged messages, 1 to 10,000; 100 by default. A broker may allow fewer.
    public var unacknowledgedMessages = 100
    /// The maximum number of requests waiting for replies, 1 to 100,000; 1,000 by default. Others fail with
    /// `queueFull`.
    public var requestsInFlight = 1_000
    /// The maximum size of a reply in bytes, 1 to 64 MiB; 1 MiB by default. A reply of up to 4 times that ends the
    /// request with `tooLarge`. The broker discards larger replies, and the request ends with `timeout`.
    public var replyBytes = 1_024 * 1_024
    /// The parent topic of replies, to which the publisher appends an unguessable level; `signalbox/replies` by
    /// default. The broker must allow the publisher to subscribe below it.
    public var replyTopic = "signalbox/replies"
    /// How long ``MQTTPublisher/publish(_:)`` waits, including connecting, 10 ms to 1 h; 30 s by default. Offered
    /// messages wait in the bounded queue without a time limit.
    public var publishTimeout: Duration = .seconds(30)
    /// How long to wait for the broker to answer CONNECT, accept data or acknowledge a message before the connection is
    /// dropped, 100 ms to 1 h; 10 s by default.
    public var answerTimeout: Duration = .seconds(10)
    /// How long a stop waits for acknowledgements of queued messages, 0 to 1 h; 5 s by default. The rest fail with
    /// `stopped`.
    public var stopTimeout: Duration = .seconds(5)
    /// The back-off between connections.
    public var reconnect = MQTTReconnect()
    /// Whether a run throws if its first connection fails; `false` by default. A command should fail; a service should
    /// retry.
    public var firstConnectionMustSucceed = false

    /// Creates a configuration, by default with a random client id.
    ///
    /// - Parameters:
    ///   - source: The source named in log lines.
    ///   - broker: The broker to publish to.
    ///   - clientID: The client id; a random one by default.
    public init(source: SourceName, broker: MQTTBroker, clientID: MQTTClientID = .random()) {
        self.source = source
        self.broker = broker
        self.clientID = clientID
        security = broker.usesTLS ? .tls() : .none
    }
}

extension MQTTPublisherConfiguration {
    /// Validates the range of every value and the consistency between values.
    ///
    /// - Throws: ``MQTTPushError`` `invalidConfiguration` for the first error, with the source's name and advice.
    public func validate() throws(MQTTPushError) {
        do throws(MQTTPushError) {
            try validateBrokerSettings()
            try validateBounds()
            try validateReplies()
        } catch {
            throw error.about(source)
        }
    }

    private func validateBounds() throws(MQTTPushError) {
        try MQTTPushError.check([
            (1...1_000_000 ~= queuedMessages, "the queued messages must be 1 to 1000000"),
            (1_024...1_073_741_824 ~= queuedBytes, "the queued bytes must be 1 KiB to 1 GiB"),
            (1...10_000 ~= unacknowledgedMessages, "the unacknowledged messages must be 1 to 10000"),
            (1...100_000 ~= requestsInFlight, "the requests in flight must be 1 to 100000"),
            (1...67_108_864 ~= replyBytes, "the bytes of a reply must be 1 to 64 MiB"),
            (.milliseconds(10) ... .seconds(3_600) ~= publishTimeout, "the publish timeout must be 10 ms to 1 h"),
            (.zero ... .seconds(3_600) ~= stopTimeout, "the stop timeout must be 0 to 1 h"),
        ])
    }

    private func validateReplies() throws(MQTTPushError) {
        do {
            _ = try TopicName(replyTopic)
        } catch {
            throw .invalid("the reply topic \(replyTopic.debugDescription): \(error)")
        }
        guard replyTopic.utf8.count <= 1_024, !replyTopic.hasPrefix("$") else {
            throw .invalid("the reply topic must have at most 1024 bytes and must not begin with $")
        }
    }
}

/// The publishing side of a push source: replies to requests, `context.sender`, and its own calls.
///
/// It uses a second connection with its own client id, because acknowledgements on the receiving connection could not
/// be held back while something else is sent there. Broker, version, security, credentials, keep-alive and back-off are
/// the source's.
public struct MQTTPublishing: Sendable, Hashable {
    /// The second connection's client id. If `nil` (default), it is the source's with `-tx` appended, or a random one
    /// if the source's is random.
    public var clientID: MQTTClientID?
    /// The maximum number of queued and unacknowledged messages, 1 to 1,000,000; 1,000 by default. Others are refused.
    public var queuedMessages = 1_000
    /// The maximum total size of these messages in bytes, 1 KiB to 1 GiB; 16 MiB by default. Further ones are refused.
    public var queuedBytes = 16 * 1_024 * 1_024
    /// The topics to which replies may be sent. A request whose Response Topic matches none of these filters is not
    /// answered. Empty by default: clients of the source choose that topic and could make the program publish anywhere.
    ///
    /// Topics that begin with `$` never receive replies, whatever the filters allow.
    public var replyTopics: [TopicFilter] = []
    /// The maximum number of requests waiting for an outcome, 1 to 1,000,000; 10,000 by default. Others are handled but
    /// not answered.
    public var waitingReplies = 10_000
    /// The topic to which `context.sender` and ``MQTTPushAdapter/call(_:body:timeout:)`` publish, with `{action}` and
    /// `{id}` as whole levels; `nil` (default) for no sender and no calls.
    ///
    /// With `{action}` the payload is the body; without it, a standard envelope `{"action", "id", "body"}`. With
    /// `{action}` but without `{id}`, the id becomes the user property `id` (MQTT 5 only).
    public var sendTopic: String?
    /// The parent topic of replies to calls, to which the publisher appends an unguessable level; `signalbox/replies`
    /// by default.
    public var responseTopic = "signalbox/replies"
    /// How long a publish waits for its acknowledgement, 10 ms to 1 h; 30 s by default.
    public var publishTimeout: Duration = .seconds(30)
    /// How long a stop waits for acknowledgements of queued messages, 0 to 1 h; 5 s by default.
    public var stopTimeout: Duration = .seconds(5)

    /// Creates a configuration without reply topics and without a send topic.
    public init() {}
}

extension MQTTPushConfiguration {
    /// The configuration of the second client, or `nil` if the source only receives.
    var publisher: MQTTPublisherConfiguration? {
        guard let publishing else { return nil }
        var publisher = MQTTPublisherConfiguration(
            source: source,
            broker: broker,
            clientID: publishing.clientID ?? clientID.publisher
        )
        publisher.version = version
        publisher.security = security
        publisher.username = username
        publisher.password = password
        publisher.keepalive = keepalive
        publisher.answerTimeout = answerTimeout
        publisher.reconnect = reconnect
        publisher.firstConnectionMustSucceed = firstConnectionMustSucceed
        publisher.queuedMessages = publishing.queuedMessages
        publisher.queuedBytes = publishing.queuedBytes
        publisher.publishTimeout = publishing.publishTimeout
        publisher.stopTimeout = publishing.stopTimeout
        publisher.replyTopic = publishing.responseTopic
        publisher.replyBytes = limits.bytes
        return publisher
    }

    /// Validates ``publishing`` and its consistency with the source.
    func validatePublishing() throws(MQTTPushError) {
        guard let publishing, let publisher else { return }
        try publisher.validate()
        guard !perConnection.contains(where: { $0.clientID == publisher.clientID }) else {
            throw .invalid(
                "the publishing client uses a client id of the source: two clients with one id disconnect each other"
            )
        }
        guard (1...1_000_000).contains(publishing.waitingReplies) else {
            throw .invalid("the waiting replies must be 1 to 1000000")
        }
        if version == .v311, !publishing.replyTopics.isEmpty {
            throw .invalid(
                "MQTT 3.1.1 has no response topics, so no request can be answered: leave the reply topics out, or use MQTT 5"
            )
        }
        do throws(MQTTPublishError) {
            if let topic = publishing.sendTopic { _ = try SendTopic(topic) }
        } catch {
            throw .invalid(error.detail)
        }
    }
}

extension MQTTClientID {
    /// The id of the publishing client that belongs to this one.
    fileprivate var publisher: MQTTClientID {
        if isRandom { return .random() }
        // An id of maximum length cannot be extended.
        return (try? .fixed(text + "-tx")) ?? .random()
    }
}
