/// The bounds of a publisher's queue.
struct PublishLimits {
    let messages: Int
    let bytes: Int
    let unacknowledged: Int
    let requests: Int

    init(_ configuration: MQTTPublisherConfiguration) {
        messages = configuration.queuedMessages
        bytes = configuration.queuedBytes
        unacknowledged = configuration.unacknowledgedMessages
        requests = configuration.requestsInFlight
    }
}
