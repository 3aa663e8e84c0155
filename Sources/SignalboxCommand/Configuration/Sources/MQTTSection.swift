import MQTTPush
import SignalboxCore
import SignalboxRoutes

/// The `mqtt` part of a source.
struct MQTTSection: Sendable, Hashable {
    /// Where it listens.
    var broker: MQTTBroker
    /// Under this name the broker keeps the session.
    var clientID: MQTTClientID
    /// Whether the broker forgets an earlier session on each start.
    var cleanStart = false
    /// How long the broker keeps the session after the connection is gone, in whole seconds.
    var sessionExpiry: Duration = .seconds(3_600)
    /// The longest silence before a ping, in whole seconds.
    var keepalive: Duration = .seconds(30)
    /// The user, where the broker wants one.
    var username: String?
    /// Where the password is kept.
    var password: Secret?
    /// At least one.
    var topics: [TopicSection]
    /// How many messages the broker may send before the first is acknowledged.
    var receiveMaximum = 250
    /// How many messages the broker keeps for this client, as it was told; 0 for any number.
    var brokerQueue = 1_000
    /// Which MQTT is spoken.
    var version = MQTTVersion.v5
    /// How the connection is protected.
    var security = MQTTSecurity.none
    /// What the broker publishes when the connection breaks.
    var will: MQTTWill?
    /// Whether a lost session is an action too.
    var announcesConnections = false
    /// Further connections.
    var connections: [ConnectionSection] = []
    /// How often a message may be delivered if the process dies while handling it.
    var maxDeliveries = 5
    /// The file that counts deliveries; `nil`: one beside the ledger of the first plugin `file`, if there is one.
    var deliveriesFile: String?
    /// The second connection, which publishes; `nil`: there is none.
    var publishing: PublishingSection?

    /// The topics of all connections, in the order in which they are asked.
    var allTopics: [TopicSection] { topics + connections.flatMap(\.topics) }
}

/// One entry of a source's `topics`.
struct TopicSection: Sendable, Hashable {
    /// What is subscribed to, with its captures.
    let pattern: TopicPattern
    /// What the message's bytes are.
    let payload: PayloadKind
    /// The action each message is, or `nil` when a capture or the message itself names it.
    let action: ActionName?
    /// How a message names its action, where nothing else does.
    var envelope = TopicEnvelope.standard
    /// The most each message is worth.
    var quality = MQTTQuality.atLeastOnce
    /// What becomes of messages that the broker had stored.
    var retained = MQTTRetained.deliver
}

/// What names the action of a message where neither its topic nor the configuration does.
enum TopicEnvelope: String, Sendable, Hashable, CaseIterable {
    /// `{"action", "id", "body"}`.
    case standard
    /// The payload of a notification of Apple's push service.
    case apns
    /// CloudEvents 1.0 in its structured form.
    case cloudEvents = "cloud_events"

    /// The same as adapters know it.
    var payloadEnvelope: PayloadEnvelope {
        switch self {
        case .standard: .standard
        case .apns: .apns
        case .cloudEvents: .cloudEvents
        }
    }
}

/// One entry of a broker source's `connections`.
struct ConnectionSection: Sendable, Hashable {
    /// What the client id of the connection ends with.
    let name: String
    /// At least one.
    let topics: [TopicSection]
}

/// The `publishing` part of a broker's source. What is `nil` has the adapter's own default.
struct PublishingSection: Sendable, Hashable {
    /// Under which id the second connection is known.
    var clientID: MQTTClientID?
    /// How many messages may wait to be sent.
    var queuedMessages: Int?
    /// How many bytes of them.
    var queuedBytes: Int?
    /// The topics that a request may name for its reply.
    var replyTopics: [TopicFilter] = []
    /// How many requests may wait for their outcome to be answered.
    var waitingReplies: Int?
    /// Where plugins' own messages go.
    var sendTopic: String?
    /// How long a message may take to be acknowledged.
    var publishTimeout: Duration?
    /// How long a stop waits for what is queued.
    var stopTimeout: Duration?
}

extension MQTTSection {
    /// The source as its adapter wants it.
    ///
    /// - Parameters:
    ///   - holdLimit: how long the supervisor holds its messages.
    ///   - ledger: the ledger beside which the deliveries file is kept, unless the section names one.
    func push(
        from source: SourceName,
        limits: MessageLimits,
        holdLimit: Duration = .seconds(5),
        ledger: String? = nil
    ) -> MQTTPushConfiguration {
        var push = MQTTPushConfiguration(
            source: source,
            broker: broker,
            topics: topics.map(\.subscription),
            clientID: clientID,
            cleanStart: cleanStart,
            sessionExpiry: sessionExpiry
        )
        push.keepalive = keepalive
        push.username = username.map(Secret.text)
        push.password = password
        push.receiveMaximum = receiveMaximum
        push.batchMessages = min(push.batchMessages, receiveMaximum)
        push.limits = limits
        push.holdLimit = holdLimit
        push.version = version
        push.security = security
        push.will = will
        push.announcesConnections = announcesConnections
        push.connections = connections.map { MQTTConnection(name: $0.name, topics: $0.topics.map(\.subscription)) }
        push.publishing = publishing?.publishing
        let file = deliveriesFile ?? ledger.map { "\($0).deliveries.\(source)" }
        push.deliveries = file.map { MQTTDeliveryLimit(file: $0, deliveries: maxDeliveries) }
        return push
    }
}

extension PublishingSection {
    fileprivate var publishing: MQTTPublishing {
        var publishing = MQTTPublishing()
        publishing.clientID = clientID
        publishing.queuedMessages = queuedMessages ?? publishing.queuedMessages
        publishing.queuedBytes = queuedBytes ?? publishing.queuedBytes
        publishing.replyTopics = replyTopics
        publishing.waitingReplies = waitingReplies ?? publishing.waitingReplies
        publishing.sendTopic = sendTopic
        publishing.publishTimeout = publishTimeout ?? publishing.publishTimeout
        publishing.stopTimeout = stopTimeout ?? publishing.stopTimeout
        return publishing
    }
}

extension TopicSection {
    fileprivate var subscription: MQTTTopic {
        var topic = MQTTTopic(pattern, payload: payload, action: action, envelope: envelope.payloadEnvelope)
        topic.quality = quality
        topic.retained = retained
        return topic
    }
}
