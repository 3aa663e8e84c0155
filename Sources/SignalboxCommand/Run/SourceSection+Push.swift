import MQTTPush
import SignalboxCore

extension SourceSection {
    /// The source as its adapter wants it.
    func push(limits: MessageLimits) -> MQTTPushConfiguration {
        var push = MQTTPushConfiguration(
            source: name,
            broker: mqtt.broker,
            topics: mqtt.topics.map { MQTTTopic($0.pattern, payload: $0.payload, action: $0.action) },
            clientID: mqtt.clientID,
            cleanStart: mqtt.cleanStart,
            sessionExpiry: mqtt.sessionExpiry
        )
        push.keepalive = mqtt.keepalive
        push.username = mqtt.username.map(Secret.text)
        push.password = mqtt.password
        push.receiveMaximum = mqtt.receiveMaximum
        push.batchMessages = min(push.batchMessages, mqtt.receiveMaximum)
        push.limits = limits
        return push
    }
}
