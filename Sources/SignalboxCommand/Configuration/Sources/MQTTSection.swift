import MQTTPush
import SignalboxCore
import SignalboxRoutes

/// The `mqtt` part of a source.
struct MQTTSection: Sendable, Hashable {
    /// The broker's address.
    var broker: MQTTBroker
    /// The client id under which the broker keeps the session.
    var clientID: MQTTClientID
    /// Whether each start discards the session that the broker kept.
    var cleanStart = false
    /// The time for which the broker keeps the session after a disconnect, in whole seconds.
    var sessionExpiry: Duration = .seconds(3_600)
    /// The maximum silence before a ping, in whole seconds.
    var keepalive: Duration = .seconds(30)
    /// The user name, if the broker requires one.
    var username: String?
    /// A reference to the password.
    var password: Secret?
    /// The subscriptions of the first connection; at least one.
    var topics: [TopicSection]
    /// The maximum number of unacknowledged messages that the broker may send.
    var receiveMaximum = 250
    /// The broker's configured queue limit for this client, in messages; 0 for no limit.
    var brokerQueue = 1_000
    /// The MQTT version.
    var version = MQTTVersion.v5
    /// The protection of the connection.
    var security = MQTTSecurity.none
    /// The message that the broker publishes if the connection breaks.
    var will: MQTTWill?
    /// Whether a lost session is submitted as an action.
    var announcesConnections = false
    /// Further connections.
    var connections: [ConnectionSection] = []
    /// The maximum number of deliveries of a message if the process dies while handling it.
    var maxDeliveries = 5
    /// The file that counts deliveries; `nil` for one beside the append log of the first `file` plugin, if there is
    /// one.
    var deliveriesFile: String?
    /// The second connection, which publishes; `nil` for none.
    var publishing: PublishingSection?

    /// The subscriptions of all connections, in matching order.
    var allTopics: [TopicSection] { topics + connections.flatMap(\.topics) }
}

/// An entry of a source's `topics`.
struct TopicSection: Sendable, Hashable {
    /// The topic pattern to subscribe to, with its captures.
    let pattern: TopicPattern
    /// The format of the payload.
    let payload: PayloadKind
    /// The action of each message, or `nil` if a capture or the message itself names it.
    let action: ActionName?
    /// The envelope that names the action if neither the topic nor ``action`` does.
    var envelope = TopicEnvelope.standard
    /// The maximum QoS of each message.
    var qos = MQTTQoS.atLeastOnce
    /// The policy for retained messages.
    var retained = MQTTRetained.deliver
}

/// The format of a message that names its own action.
enum TopicEnvelope: String, Sendable, Hashable, CaseIterable {
    /// `{"action", "id", "body"}`.
    case standard
    /// A notification payload of Apple's push service.
    case apns
    /// CloudEvents 1.0 in structured mode.
    case cloudEvents = "cloud_events"

    /// The adapters' value for the envelope.
    var payloadEnvelope: PayloadEnvelope {
        switch self {
        case .standard: .standard
        case .apns: .apns
        case .cloudEvents: .cloudEvents
        }
    }
}

/// An entry of a broker source's `connections`.
struct ConnectionSection: Sendable, Hashable {
    /// The suffix of the connection's client id.
    let name: String
    /// The subscriptions; at least one.
    let topics: [TopicSection]
}

/// The `publishing` part of a broker source. A property that is `nil` has the adapter's default.
struct PublishingSection: Sendable, Hashable {
    /// The client id of the second connection.
    var clientID: MQTTClientID?
    /// The maximum number of queued or unacknowledged messages.
    var queuedMessages: Int?
    /// The maximum total size of these messages, in bytes.
    var queuedBytes: Int?
    /// Filters for the response topics that a request may name.
    var replyTopics: [TopicFilter] = []
    /// The maximum number of requests with a pending reply.
    var waitingReplies: Int?
    /// The topic template for messages that plugins send.
    var sendTopic: String?
    /// The time limit for the acknowledgement of a message.
    var publishTimeout: Duration?
    /// The time for which a stop waits for queued messages.
    var stopTimeout: Duration?
}

extension MQTTSection {
    /// Returns the adapter's configuration of this source.
    ///
    /// - Parameters:
    ///   - ackDeadline: The supervisor's ack deadline.
    ///   - appendLog: The append log that determines the path of the deliveries file, unless the section sets one.
    func push(
        from source: SourceName,
        limits: MessageLimits,
        ackDeadline: Duration = .seconds(5),
        appendLog: String? = nil
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
        push.ackDeadline = ackDeadline
        push.version = version
        push.security = security
        push.will = will
        push.announcesConnections = announcesConnections
        push.connections = connections.map { MQTTConnection(name: $0.name, topics: $0.topics.map(\.subscription)) }
        push.publishing = publishing?.publishing
        let file = deliveriesFile ?? appendLog.map { "\($0).deliveries.\(source)" }
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
        topic.qos = qos
        topic.retained = retained
        return topic
    }
}
