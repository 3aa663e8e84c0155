import SignalboxCore

/// The way outward of a push source: each action is published to the configured topic.
final class PushSender: Sender {
    private let topic: SendTopic
    private let publisher: MQTTPublisher

    init(topic: SendTopic, publisher: MQTTPublisher) {
        self.topic = topic
        self.publisher = publisher
    }

    func send(_ action: ActionName, id: ActionID?, body: Bytes) throws(SendRefused) {
        do throws(MQTTPublishError) {
            let message = try topic.message(action, id: id, body: body, version: publisher.configuration.version)
            try publisher.offer(message)
        } catch {
            switch error.code {
            case .queueFull: throw .full
            case .tooLarge: throw .tooLarge
            case .stopped: throw .closed
            default: throw .invalid
            }
        }
    }
}
