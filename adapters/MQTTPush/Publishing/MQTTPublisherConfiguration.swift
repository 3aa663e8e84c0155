import AdapterSupport
public import SignalboxCore
public import SignalboxRoutes

/// The configuration of a publisher, including its connection and its limits.
public struct MQTTPublisherConfiguration: Sendable {
    /// The name of the source, as used in log lines.
    public var source: SourceName
    /// The broker.
    public var broker: MQTTBroker
    /// Further brokers of the same cluster, at most 15, which are tried when ``broker`` cannot be reached or is lost. They
    /// must use TLS if ``broker`` does, and only then. The list is empty by default.
    ///
    /// The client expects the same session on each broker, so the cluster must share it. All other settings, such as the
    /// login, are those of each broker.
    public var furtherBrokers: [MQTTBroker] = []
    /// The order in which the brokers are tried. The default is ``MQTTBrokerOrder/listed``.
    public var brokerOrder = MQTTBrokerOrder.listed
    /// The proxy through which to connect, if any. The environment's variables, such as `http_proxy`, have no effect. A
    /// broker with a Unix socket is connected to directly.
    public var proxy: MQTTProxy?
    /// Additional headers of the request for a WebSocket. There can be at most 32, with distinct names.
    public var headers: [MQTTHeader] = []
    /// The application protocols to offer to a broker with TLS, most preferred first (ALPN; RFC 7301). There can be at most
    /// 16, each with 1 to 255 bytes. The default, `nil`, offers `mqtt`, or `http/1.1` for a WebSocket; an empty list offers
    /// nothing.
    public var alpn: [String]?
    /// The id that the broker uses to identify the publisher. The default is a random id, because a publisher does not
    /// need a session.
    public var clientID: MQTTClientID
    /// The protocol version. The default is MQTT 5.
    ///
    /// With MQTT 3.1.1, the broker cannot report that it refused a message, and requests are not possible, because MQTT
    /// 3.1.1 has no response topic.
    public var version: MQTTVersion = .v5
    /// The security of the connection. By default, a connection to an `mqtts://` broker uses TLS and trusts the
    /// system's certificate authorities.
    public var security: MQTTSecurity
    /// The user name, which is read again for each connection. The default is `nil`, which connects without a user
    /// name.
    public var username: Secret?
    /// The password, which is read again for each connection. It requires a user name. The default is `nil`.
    public var password: Secret?
    /// The message that the broker publishes if the connection ends without a DISCONNECT packet. The default is `nil`,
    /// which means no message.
    public var will: MQTTWill?
    /// The enhanced authentication (MQTT 5.0, 4.12), in addition to a user name and password if there are any. MQTT 3.1.1 has
    /// none. The default is `nil`.
    public var authentication: MQTTAuthenticator?
    /// The user properties of CONNECT, from which a broker may learn about the client (MQTT 5.0, 3.1.2.11.8). There can be at
    /// most 64, and MQTT 3.1.1 has none. The default is none.
    public var connectProperties: [MQTTMessage.UserProperty] = []
    /// The maximum time without traffic before the publisher sends a ping. Must be 0, which disables pings, or a whole
    /// number of seconds between 5 and 65,535; the default is 30 s.
    public var keepalive: Duration = .seconds(30)
    /// The maximum number of messages that can be queued or unacknowledged. Must be between 1 and 1,000,000; the
    /// default is 1,000. A message that would exceed the limit fails with `queueFull`, so no message is dropped
    /// silently.
    public var queuedMessages = 1_000
    /// The maximum total size of queued and unacknowledged messages, in bytes, including their payloads, topics and
    /// properties. Must be between 1 KiB and 1 GiB; the default is 16 MiB.
    ///
    /// A message that would exceed the limit fails with `queueFull`. A single message that is larger than the limit
    /// fails with `tooLarge`.
    public var queuedBytes = 16 * 1_024 * 1_024
    /// The maximum number of messages that have been sent but not yet acknowledged. Must be between 1 and 10,000; the
    /// default is 100. A broker may allow fewer.
    public var unacknowledgedMessages = 100
    /// The maximum number of requests that can wait for replies. Must be between 1 and 100,000; the default is 1,000. A
    /// request that would exceed the limit fails with `queueFull`.
    public var requestsInFlight = 1_000
    /// The maximum size of a reply, in bytes. Must be between 1 byte and 64 MiB; the default is 1 MiB.
    ///
    /// If a reply is larger than this limit, but not more than 4 times as large, the request fails with `tooLarge`.
    /// Even larger replies are discarded by the broker, so the request fails with `timeout`.
    public var replyBytes = 1_024 * 1_024
    /// The parent topic for replies. The default is `signalbox/replies`. The publisher appends a level that cannot be
    /// guessed, so the broker must allow the publisher to subscribe below this topic.
    public var replyTopic = "signalbox/replies"
    /// The maximum time that ``MQTTPublisher/publish(_:)`` waits, including the time to connect. Must be between 10 ms
    /// and 1 h; the default is 30 s. Messages passed to ``MQTTPublisher/offer(_:)`` wait in the bounded queue without a
    /// time limit.
    public var publishTimeout: Duration = .seconds(30)
    /// How long an attempt to connect to one broker may take, from the lookup of its name to its answer to CONNECT,
    /// including the handshakes. Must be between 100 ms and 1 h; the default is 10 s. The time for reading secrets and files
    /// does not count.
    public var connectTimeout: Duration = .seconds(10)
    /// How long to wait for the broker to accept data, or to acknowledge a message or the subscription to the reply topic.
    /// Must be between 100 ms and 1 h; the default is 10 s. After this time, the publisher drops the connection.
    public var answerTimeout: Duration = .seconds(10)
    /// Texts that replace those of the remedies in errors and log lines, for a program without a configuration.
    package var remedies: [BrokerRemedy: String] = [:]
    /// How long a stop waits for queued messages to be acknowledged. Must be between 0 and 1 h; the default is 5 s.
    /// Messages that are not acknowledged by then fail with `stopped`.
    public var stopTimeout: Duration = .seconds(5)
    /// How long to wait between connection attempts.
    public var reconnect = MQTTReconnect()
    /// Whether a run throws an error if its first connection fails. The default is `false`. Use `true` for a terminal
    /// command, where a person can fix the error. A service should keep trying instead.
    public var firstConnectionMustSucceed = false

    /// Creates a configuration.
    ///
    /// - Parameters:
    ///   - source: The name of the source, as used in log lines.
    ///   - broker: The broker to publish to.
    ///   - clientID: The client id. The default is a random id.
    public init(source: SourceName, broker: MQTTBroker, clientID: MQTTClientID = .random()) {
        self.source = source
        self.broker = broker
        self.clientID = clientID
        security = broker.usesTLS ? .tls() : .none
    }
}

extension MQTTPublisherConfiguration {
    /// Checks that all values are in range and that no two values conflict.
    ///
    /// - Throws: ``MQTTPushError`` `invalidConfiguration` for the first problem found. The error names the source and
    ///   says how to fix the problem.
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

/// Configures how a push source publishes: replies to requests, messages sent through `context.sender`, and calls.
///
/// Publishing uses a second connection with a separate client id, because sending anything on the receiving connection
/// would also send acknowledgements that must still be held back. The broker, version, security, credentials,
/// keep-alive and back-off are the same as for the source.
public struct MQTTPublishing: Sendable, Hashable {
    /// The client id of the second connection. The default is the source's client id with `-tx` appended. If the
    /// source's client id is random, the default is another random id.
    public var clientID: MQTTClientID?
    /// The maximum number of messages that can be queued or unacknowledged. Must be between 1 and 1,000,000; the
    /// default is 1,000. Messages that would exceed the limit are refused.
    public var queuedMessages = 1_000
    /// The maximum total size of queued and unacknowledged messages, in bytes. Must be between 1 KiB and 1 GiB; the
    /// default is 16 MiB. Messages that would exceed the limit are refused.
    public var queuedBytes = 16 * 1_024 * 1_024
    /// The topics to which replies may be sent. A request is answered only if its Response Topic matches one of these
    /// filters.
    ///
    /// The default is an empty list, because the Response Topic is chosen by the sender of the request, who could
    /// otherwise make the program publish to any topic. Replies are never sent to topics that begin with `$`, even if a
    /// filter matches them.
    public var replyTopics: [TopicFilter] = []
    /// The maximum number of received requests that can wait for an outcome. Must be between 1 and 1,000,000; the
    /// default is 10,000. Further requests are handled but not answered.
    public var waitingReplies = 10_000
    /// The topic to which `context.sender` and ``MQTTPushAdapter/call(_:body:timeout:)`` publish, in which `{action}`
    /// and `{id}` can appear as whole levels. By default, there is no topic, so there is no sender and calls are not
    /// possible.
    ///
    /// If the topic has `{action}`, the payload is the body. Otherwise, the payload is a standard envelope, `{"action",
    /// "id", "body"}`. If the topic has `{action}` but not `{id}`, the id is sent as the user property `id`, which
    /// requires MQTT 5.
    public var sendTopic: String?
    /// The parent topic for replies to calls. The default is `signalbox/replies`. The publisher appends a level that
    /// cannot be guessed.
    public var responseTopic = "signalbox/replies"
    /// The maximum time to wait for a published message to be acknowledged. Must be between 10 ms and 1 h; the default
    /// is 30 s.
    public var publishTimeout: Duration = .seconds(30)
    /// How long a stop waits for queued messages to be acknowledged. Must be between 0 and 1 h; the default is 5 s.
    public var stopTimeout: Duration = .seconds(5)

    /// Creates a configuration with no reply topics and no send topic.
    public init() {}
}

extension MQTTPushConfiguration {
    /// The configuration of the publishing client, or `nil` if the source only receives.
    package var publisher: MQTTPublisherConfiguration? {
        guard let publishing else { return nil }
        var publisher = MQTTPublisherConfiguration(
            source: source,
            broker: broker,
            clientID: publishing.clientID ?? clientID.publisher
        )
        publisher.furtherBrokers = furtherBrokers
        publisher.brokerOrder = brokerOrder
        publisher.proxy = proxy
        publisher.headers = headers
        publisher.alpn = alpn
        publisher.connectTimeout = connectTimeout
        publisher.version = version
        publisher.security = security
        publisher.username = username
        publisher.password = password
        publisher.authentication = authentication
        publisher.connectProperties = connectProperties
        publisher.keepalive = keepalive
        publisher.answerTimeout = answerTimeout
        publisher.reconnect = reconnect
        publisher.remedies = remedies
        publisher.firstConnectionMustSucceed = firstConnectionMustSucceed
        publisher.queuedMessages = publishing.queuedMessages
        publisher.queuedBytes = publishing.queuedBytes
        publisher.publishTimeout = publishing.publishTimeout
        publisher.stopTimeout = publishing.stopTimeout
        publisher.replyTopic = publishing.responseTopic
        publisher.replyBytes = limits.bytes
        return publisher
    }

    /// Validates ``publishing``, and checks that it does not conflict with the source.
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
    /// The default id of the publishing client of a source with this id.
    fileprivate var publisher: MQTTClientID {
        if isRandom { return .random() }
        // An id of maximum length cannot be extended.
        return (try? .fixed(text + "-tx")) ?? .random()
    }
}
