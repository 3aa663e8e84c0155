import MQTTPush
import SignalboxCore
import SignalboxRoutes

/// Reads the messages that a program publishes through a broker: its will, and the properties of those of a plugin.
extension ConfigurationReader {
    /// How long a message may be valid.
    private static let lifetimes: ClosedRange<Duration> = .seconds(1) ... .seconds(4_294_967_295)

    func will(_ value: YAMLValue) -> MQTTWill? {
        value.mapping("will") { keys in
            let advice = "name the topic of the message, such as topic: kiosk/gone"
            let topic = keys.required("topic", advice)?.text()
            var will = MQTTWill(topic: topic ?? "", payload: [])
            keys.read("payload", &will.payload) { $0.anyText().map { Array($0.utf8) } }
            keys.read("qos", &will.qos, qos)
            keys.read("retain", &will.retain) { $0.flag() }
            keys.read("delay", &will.delay) { $0.duration(.zero...(.seconds(4_294_967_295))) }
            keys.read("expiry", &will.expiry) { $0.duration(ConfigurationReader.lifetimes) }
            keys.read("content_type", &will.contentType) { $0.anyText() }
            keys.read("response_topic", &will.responseTopic) { $0.text() }
            keys.read("correlation", &will.correlation) { $0.anyText().map { Array($0.utf8) } }
            keys.read("is_text", &will.isText) { $0.flag() }
            keys.read("user_properties", &will.userProperties, userProperties)
            return topic == nil ? nil : will
        }
    }

    /// Returns a message that has only the properties for each message of a plugin.
    func messageProperties(_ value: YAMLValue) -> MQTTMessage? {
        value.mapping("messageProperties", changing: MQTTMessage([], to: "")) { keys, message in
            keys.read("content_type", &message.contentType) { $0.anyText() }
            keys.read("expiry", &message.expiry) { $0.duration(ConfigurationReader.lifetimes) }
            keys.read("response_topic", &message.responseTopic) { $0.parsed(.badPattern) { try TopicName($0).text } }
            keys.read("correlation", &message.correlation) { $0.anyText().map { Array($0.utf8) } }
            keys.read("is_text", &message.isText) { $0.flag() }
            keys.read("user_properties", &message.userProperties, userProperties)
        }
    }

    /// Returns user properties, which are written as a mapping of names to texts. In a file, each name occurs once.
    func userProperties(_ value: YAMLValue) -> [MQTTMessage.UserProperty]? {
        let limit = 64
        guard let mapping = value.anyMapping("user_properties: { site: north }") else { return nil }
        guard mapping.entries.count <= limit else { return value.refused("expected at most \(limit) user properties") }
        return mapping.entries.compactMap { entry in
            entry.value.anyText().map { MQTTMessage.UserProperty(name: entry.name, value: $0) }
        }
    }
}
