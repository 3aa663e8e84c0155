import MQTTPush
import SignalboxCore

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
