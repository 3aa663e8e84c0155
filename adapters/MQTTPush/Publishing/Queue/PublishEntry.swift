/// A message between its caller and the broker's acknowledgement.
struct PublishEntry {
    /// Who hears what became of it.
    enum Waiter {
        /// Nobody waits: it was offered.
        case nobody
        case publish(CheckedContinuation<Result<MQTTReceipt, MQTTPublishError>, Never>)
        /// The request of this correlation, which waits for more than the acknowledgement.
        case request([UInt8])
        /// Its caller gave up after it was sent. It keeps its place until the connection forgets it, as the library does.
        case gone
    }

    let message: MQTTMessage
    let size: Int
    /// When nobody wants it any more.
    let expires: ContinuousClock.Instant?
    var waiter: Waiter
    /// Since when it is with the present connection.
    var sentAt: ContinuousClock.Instant?
    /// Whether it was with any connection: then it may have been published.
    var wasSent = false

    init(_ message: MQTTMessage, waiter: Waiter, now: ContinuousClock.Instant) {
        self.message = message
        self.waiter = waiter
        size = message.size
        expires = message.expiry.map { now + $0 }
    }

    var isRequest: Bool {
        if case .request = waiter { return true }
        return false
    }

    var isGone: Bool {
        if case .gone = waiter { return true }
        return false
    }
}

extension MQTTMessage {
    /// The bytes that count for a queue's bound.
    var size: Int {
        var size = payload.count + topic.utf8.count
        size += (responseTopic?.utf8.count ?? 0) + (correlation?.count ?? 0) + (contentType?.utf8.count ?? 0)
        for property in userProperties { size += property.name.utf8.count + property.value.utf8.count }
        return size
    }
}
