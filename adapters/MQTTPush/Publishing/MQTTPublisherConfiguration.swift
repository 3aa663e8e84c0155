public import SignalboxCore
public import SignalboxRoutes

/// How a publisher connects, and its bounds.
public struct MQTTPublisherConfiguration: Sendable {
    /// Whom log lines are about.
    public var source: SourceName
    /// The broker.
    public var broker: MQTTBroker
    /// Under which id the broker knows the publisher; a random one by default. It needs no session.
    public var clientID: MQTTClientID
    /// The protocol version; 5 by default. With 3.1.1 a broker cannot say that it refused a message, and requests have no
    /// response topic.
    public var version: MQTTVersion = .v5
    /// How the connection is protected: by default TLS with the system's trust where the broker is one of `mqtts://`.
    public var security: MQTTSecurity
    /// The user name, read at each connection; none by default.
    public var username: Secret?
    /// The password, read at each connection; needs a user name; none by default.
    public var password: Secret?
    /// What the broker publishes when the connection ends without a goodbye; nothing by default.
    public var will: MQTTWill?
    /// The longest silence before a ping, in whole seconds: 0 (none) or 5 to 65,535; 30 s by default.
    public var keepalive: Duration = .seconds(30)
    /// The most messages that are queued or not acknowledged, 1 to 1,000,000; 1,000 by default. More are refused with
    /// `queueFull`, never dropped.
    public var queuedMessages = 1_000
    /// The most bytes of them, 1 KiB to 1 GiB; 16 MiB by default: payloads, topics, properties. More are refused with
    /// `queueFull`; a single message that is larger is `tooLarge`.
    public var queuedBytes = 16 * 1_024 * 1_024
    /// The most messages that are sent and not acknowledged, 1 to 10,000; 100 by default. A broker may allow fewer.
    public var unacknowledgedMessages = 100
    /// The most requests that wait for replies, 1 to 100,000; 1,000 by default. More are refused with `queueFull`.
    public var requestsInFlight = 1_000
    /// The most bytes of a reply, 1 to 64 MiB; 1 MiB by default. Up to 4 times that ends the request with `tooLarge`; a
    /// broker throws a larger one away, and the request ends with `timeout`.
    public var replyBytes = 1_024 * 1_024
    /// Below which topic replies come: a level that cannot be guessed is added. `signalbox/replies` by default; the broker
    /// must allow the publisher to subscribe below it.
    public var replyTopic = "signalbox/replies"
    /// How long ``MQTTPublisher/publish(_:)`` waits at most, connecting included, 10 ms to 1 h; 30 s by default. What is
    /// offered waits without a limit, in the bounded queue.
    public var publishTimeout: Duration = .seconds(30)
    /// How long to wait for the broker's answer to CONNECT, for it to take what is sent, and for an acknowledgement, before
    /// the connection is given up, 100 ms to 1 h; 10 s by default.
    public var answerTimeout: Duration = .seconds(10)
    /// How long a stop waits at most until what is queued is acknowledged, 0 to 1 h; 5 s by default. The rest ends with
    /// `stopped`.
    public var stopTimeout: Duration = .seconds(5)
    /// The waits between connections.
    public var reconnect = MQTTReconnect()
    /// Whether a run throws when its first connection fails, as a command at a terminal should, instead of trying again as a
    /// service should; `false` by default.
    public var firstConnectionMustSucceed = false

    /// A publisher with a random client id.
    ///
    /// - Parameters:
    ///   - source: whom log lines are about.
    ///   - broker: where messages go.
    ///   - clientID: a random one by default.
    public init(source: SourceName, broker: MQTTBroker, clientID: MQTTClientID = .random()) {
        self.source = source
        self.broker = broker
        self.clientID = clientID
        security = broker.usesTLS ? .tls() : .none
    }
}

extension MQTTPublisherConfiguration {
    /// Whether everything is in its range and goes together.
    ///
    /// - Throws: ``MQTTPushError`` `invalidConfiguration` for the first fault, with the source's name and what to do.
    public func validate() throws(MQTTPushError) {
        do throws(MQTTPushError) {
            try validateBounds()
            try validateTimes()
            try validateReplies()
            try reconnect.validate()
            try security.validate(for: broker)
            try will?.validate()
            if password != nil && username == nil { throw fault("a password needs a user name") }
        } catch {
            throw error.about(source)
        }
    }

    private func validateBounds() throws(MQTTPushError) {
        guard (1...1_000_000).contains(queuedMessages) else { throw fault("the queued messages are 1 to 1000000") }
        guard (1_024...1_073_741_824).contains(queuedBytes) else { throw fault("the queued bytes are 1 KiB to 1 GiB") }
        guard (1...10_000).contains(unacknowledgedMessages) else {
            throw fault("the unacknowledged messages are 1 to 10000")
        }
        guard (1...100_000).contains(requestsInFlight) else { throw fault("the requests in flight are 1 to 100000") }
        guard (1...67_108_864).contains(replyBytes) else { throw fault("the bytes of a reply are 1 to 64 MiB") }
    }

    private func validateTimes() throws(MQTTPushError) {
        guard keepalive == .zero || keepalive.isWholeSeconds(in: 5...65_535) else {
            throw fault("the keepalive is 0 (none) or a whole number of seconds, 5 to 65535")
        }
        guard (Duration.milliseconds(10) ... .seconds(3_600)).contains(publishTimeout) else {
            throw fault("the publish timeout is 10 ms to 1 h")
        }
        guard (Duration.milliseconds(100) ... .seconds(3_600)).contains(answerTimeout) else {
            throw fault("the answer timeout is 100 ms to 1 h")
        }
        guard (Duration.zero ... .seconds(3_600)).contains(stopTimeout) else {
            throw fault("the stop timeout is 0 to 1 h")
        }
    }

    private func validateReplies() throws(MQTTPushError) {
        do {
            _ = try TopicName(replyTopic)
        } catch {
            throw fault("the reply topic \(replyTopic.debugDescription): \(error)")
        }
        guard replyTopic.utf8.count <= 1_024, !replyTopic.hasPrefix("$") else {
            throw fault("the reply topic has at most 1024 bytes and does not begin with $")
        }
    }

    private func fault(_ detail: String) -> MQTTPushError {
        MQTTPushError(.invalidConfiguration, detail)
    }
}

/// How a push source publishes beside receiving: replies to requests, `context.sender`, calls of its own.
///
/// It is a second connection with a client id of its own, as an acknowledgement on the receiving one could not be held back
/// while something else is sent there. Broker, version, security, user name, password, keepalive and waits are those of the
/// source.
public struct MQTTPublishing: Sendable {
    /// The second connection's client id; `nil` (default): that of the source with `-tx` behind, or a random one where the
    /// source's is.
    public var clientID: MQTTClientID?
    /// The most messages that are queued or not acknowledged, 1 to 1,000,000; 1,000 by default. More are refused.
    public var queuedMessages = 1_000
    /// The most bytes of them, 1 KiB to 1 GiB; 16 MiB by default. More are refused.
    public var queuedBytes = 16 * 1_024 * 1_024
    /// Where replies may go: a request whose Response Topic none of these filters matches is not answered. None by default,
    /// as whoever may publish to the source names that topic, and so could make the program publish anywhere.
    ///
    /// Topics that begin with `$` are never answered on, whatever the filters say.
    public var replyTopics: [TopicFilter] = []
    /// How many requests may wait for their outcome to be answered, 1 to 1,000,000; 10,000 by default. One more is handled
    /// and not answered.
    public var waitingReplies = 10_000
    /// Where `context.sender` and ``MQTTPushAdapter/call(_:body:timeout:)`` publish, with `{action}` and `{id}` as whole
    /// levels; `nil` (default): nothing can be sent unasked.
    ///
    /// With `{action}` the payload is the body; without, it is a standard envelope `{"action", "id", "body"}`. An id that
    /// has no place goes into the user property `id`.
    public var sendTopic: String?
    /// Below which topic the answers to calls come: a level that cannot be guessed is added. `signalbox/replies` by default.
    public var responseTopic = "signalbox/replies"
    /// How long a publish waits at most for its acknowledgement, 10 ms to 1 h; 30 s by default.
    public var publishTimeout: Duration = .seconds(30)
    /// How long a stop waits at most until what is queued is acknowledged, 0 to 1 h; 5 s by default.
    public var stopTimeout: Duration = .seconds(5)

    /// Publishing that answers nobody and has no sender, until told where.
    public init() {}
}

extension MQTTPushConfiguration {
    /// The configuration of the second client, or `nil` when the source only receives.
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

    /// What can be said of ``publishing`` beside its bounds.
    func validatePublishing() throws(MQTTPushError) {
        guard let publishing, let publisher else { return }
        try publisher.validate()
        guard !perConnection.contains(where: { $0.clientID == publisher.clientID }) else {
            throw MQTTPushError(
                .invalidConfiguration,
                "the publishing client has a client id of the source's: two clients with one id disconnect each other"
            )
        }
        guard (1...1_000_000).contains(publishing.waitingReplies) else {
            throw MQTTPushError(.invalidConfiguration, "the waiting replies are 1 to 1000000")
        }
        if version == .v311, !publishing.replyTopics.isEmpty {
            throw MQTTPushError(
                .invalidConfiguration,
                "MQTT 3.1.1 has no response topics, so nothing can be answered: leave the reply topics out, or use MQTT 5"
            )
        }
        do throws(MQTTPublishError) {
            if let topic = publishing.sendTopic { _ = try SendTopic(topic) }
        } catch {
            throw MQTTPushError(.invalidConfiguration, error.detail)
        }
    }
}

extension MQTTClientID {
    /// The id of the publishing client beside this one.
    fileprivate var publisher: MQTTClientID {
        if isRandom { return .random() }
        // An id of the greatest length has no room for more.
        return (try? .fixed(text + "-tx")) ?? .random()
    }
}
