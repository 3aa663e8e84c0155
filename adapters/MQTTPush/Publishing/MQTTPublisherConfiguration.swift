import AdapterSupport
public import SignalboxCore
public import SignalboxRoutes

/// The configuration of a publisher, with its connection and its limits.
public struct MQTTPublisherConfiguration: Sendable {
    /// The name of the source that log lines state.
    public var source: SourceName
    /// The broker.
    public var broker: MQTTBroker
    /// The id by which the broker identifies the publisher. By default, it is random, because a publisher needs no
    /// session.
    public var clientID: MQTTClientID
    /// The protocol version. The default is MQTT 5. With MQTT 3.1.1, the broker cannot report that it refused a
    /// message, and requests are not possible because there is no response topic.
    public var version: MQTTVersion = .v5
    /// The security of the connection. By default, a connection to an `mqtts://` broker uses TLS and trusts the
    /// authorities that the system trusts.
    public var security: MQTTSecurity
    /// The user name, which is read at each connection. The default is `nil`, for a connection without a user name.
    public var username: Secret?
    /// The password, which is read at each connection and requires a user name. The default is `nil`.
    public var password: Secret?
    /// The message that the broker publishes if the connection ends without DISCONNECT. The default is `nil`, for no
    /// message.
    public var will: MQTTWill?
    /// The maximum time without traffic before the publisher sends a ping, in whole seconds. It is 0 for no pings, or 5
    /// to 65,535 s. The default is 30 s.
    public var keepalive: Duration = .seconds(30)
    /// The maximum number of queued and unacknowledged messages. The valid range is 1 to 1,000,000. The default is
    /// 1,000. Further messages fail with `queueFull`, so none is dropped silently.
    public var queuedMessages = 1_000
    /// The maximum total size of these messages in bytes, which includes their payloads, topics and properties. The
    /// valid range is 1 KiB to 1 GiB. The default is 16 MiB. Further messages fail with `queueFull`, and a single
    /// message that is larger fails with `tooLarge`.
    public var queuedBytes = 16 * 1_024 * 1_024
    /// The maximum number of messages that are sent but not acknowledged. The valid range is 1 to 10,000. The default
    /// is 100. A broker may allow fewer.
    public var unacknowledgedMessages = 100
    /// The maximum number of requests that wait for replies. The valid range is 1 to 100,000. The default is 1,000.
    /// Further requests fail with `queueFull`.
    public var requestsInFlight = 1_000
    /// The maximum size of a reply in bytes. The valid range is 1 byte to 64 MiB. The default is 1 MiB. A reply of up
    /// to 4 times that size ends the request with `tooLarge`. The broker discards larger replies, so the request ends
    /// with `timeout`.
    public var replyBytes = 1_024 * 1_024
    /// The parent topic of replies. The publisher appends a level that cannot be guessed, so the broker must allow it
    /// to subscribe below this topic. The default is `signalbox/replies`.
    public var replyTopic = "signalbox/replies"
    /// How long ``MQTTPublisher/publish(_:)`` waits, including the time to connect. The valid range is 10 ms to 1 h.
    /// The default is 30 s. Offered messages have no time limit and wait in the bounded queue.
    public var publishTimeout: Duration = .seconds(30)
    /// How long to wait for the broker to answer CONNECT, to accept data, or to acknowledge a message or the
    /// subscription to the reply topic. After this time, the publisher drops the connection. Must be between 100 ms
    /// and 1 h; the default is 10 s.
    public var answerTimeout: Duration = .seconds(10)
    /// How long a stop waits for the acknowledgements of queued messages. The valid range is 0 to 1 h. The default is 5
    /// s. Messages that are not acknowledged by then fail with `stopped`.
    public var stopTimeout: Duration = .seconds(5)
    /// The back-off between connection attempts.
    public var reconnect = MQTTReconnect()
    /// Whether a run throws if its first connection fails. The default is `false`. Use `true` for a command in a
    /// terminal, where a person can fix the error. A service should keep trying instead.
    public var firstConnectionMustSucceed = false

    /// Creates a configuration.
    ///
    /// - Parameters:
    ///   - source: The name of the source that log lines state.
    ///   - broker: The broker to publish to.
    ///   - clientID: The client id. By default, it is random.
    public init(source: SourceName, broker: MQTTBroker, clientID: MQTTClientID = .random()) {
        self.source = source
        self.broker = broker
        self.clientID = clientID
        security = broker.usesTLS ? .tls() : .none
    }
}

extension MQTTPublisherConfiguration {
    /// Checks that every value is in its range and that no values conflict.
    ///
    /// - Throws: ``MQTTPushError`` `invalidConfiguration` for the first error, with the name of the source and advice.
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

/// The configuration of the publishing side of a push source, which replies to requests, sends for `context.sender`,
/// and makes calls.
///
/// The publishing side has a second connection with its own client id. It cannot use the receiving connection, because
/// the acknowledgements there could not be held back while something else is sent. The broker, version, security,
/// credentials, keep-alive and back-off are those of the source.
public struct MQTTPublishing: Sendable, Hashable {
    /// The client id of the second connection. By default, it is the client id of the source with `-tx` appended. If
    /// the client id of the source is random, this one is random as well.
    public var clientID: MQTTClientID?
    /// The maximum number of queued and unacknowledged messages. The valid range is 1 to 1,000,000. The default is
    /// 1,000. Further messages are refused.
    public var queuedMessages = 1_000
    /// The maximum total size of these messages in bytes. The valid range is 1 KiB to 1 GiB. The default is 16 MiB.
    /// Further messages are refused.
    public var queuedBytes = 16 * 1_024 * 1_024
    /// The topics to which replies may be sent. A request is answered only if its Response Topic matches one of these
    /// filters. By default, the list is empty, because the sender of a request chooses that topic and could otherwise
    /// make the program publish anywhere.
    ///
    /// Replies are never sent to topics that begin with `$`, even if a filter allows them.
    public var replyTopics: [TopicFilter] = []
    /// The maximum number of requests that wait for an outcome. The valid range is 1 to 1,000,000. The default is
    /// 10,000. Further requests are handled but not answered.
    public var waitingReplies = 10_000
    /// The topic to which `context.sender` and ``MQTTPushAdapter/call(_:body:timeout:)`` publish. It can have
    /// `{action}` and `{id}` as whole levels. By default, there is no topic, so there is no sender and calls are not
    /// possible.
    ///
    /// If the topic has `{action}`, the payload is the body. Otherwise, the payload is a standard envelope,
    /// `{"action", "id", "body"}`. If the topic has `{action}` but not `{id}`, the id becomes the user property `id`,
    /// which requires MQTT 5.
    public var sendTopic: String?
    /// The parent topic of the replies to calls, to which the publisher appends a level that cannot be guessed. The
    /// default is `signalbox/replies`.
    public var responseTopic = "signalbox/replies"
    /// How long a publish waits for its acknowledgement. The valid range is 10 ms to 1 h. The default is 30 s.
    public var publishTimeout: Duration = .seconds(30)
    /// How long a stop waits for the acknowledgements of queued messages. The valid range is 0 to 1 h. The default is 5
    /// s.
    public var stopTimeout: Duration = .seconds(5)

    /// Creates a configuration without reply topics and without a send topic.
    public init() {}
}

extension MQTTPushConfiguration {
    /// The configuration of the client that publishes, or `nil` if the source only receives.
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
    /// The id of the publishing client that belongs to the client with this id.
    fileprivate var publisher: MQTTClientID {
        if isRandom { return .random() }
        // An id of maximum length cannot be extended.
        return (try? .fixed(text + "-tx")) ?? .random()
    }
}
