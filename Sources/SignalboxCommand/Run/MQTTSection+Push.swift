import MQTTPush
import SignalboxCore

extension MQTTSection {
    /// The source as its adapter wants it.
    ///
    /// - Parameter holdLimit: how long the supervisor holds its messages.
    func push(from source: SourceName, limits: MessageLimits, holdLimit: Duration = .seconds(5))
        -> MQTTPushConfiguration
    {
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
        return push
    }
}

extension TopicSection {
    fileprivate var subscription: MQTTTopic {
        MQTTTopic(pattern, payload: payload, action: action, envelope: envelope.payloadEnvelope)
    }
}
