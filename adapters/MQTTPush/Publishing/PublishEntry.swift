/// A message from its acceptance to the broker's acknowledgement.
struct PublishEntry {
    /// The recipient of the result.
    enum Waiter {
        /// The message was offered, so no caller is waiting.
        case fireAndForget
        case publish(CheckedContinuation<Result<MQTTReceipt, MQTTPublishError>, Never>)
        /// The request with this correlation, which waits for a reply as well as the acknowledgement.
        case request([UInt8])
        /// The caller stopped waiting after the message was sent. The entry remains until it is acknowledged or the
        /// connection ends, like the message in the library.
        case cancelled
    }

    let message: MQTTMessage
    let size: Int
    /// When the message expires.
    let expires: ContinuousClock.Instant?
    var waiter: Waiter
    /// When the message was passed to the current connection.
    var sentAt: ContinuousClock.Instant?
    /// Whether the message was passed to any connection and so may have been published.
    var wasSent = false

    init(_ message: MQTTMessage, waiter: Waiter, now: ContinuousClock.Instant) {
        self.message = message
        self.waiter = waiter
        size = message.size
        expires = message.expiry.map { now + $0 }
    }

    var isRequest: Bool {
        if case .request = waiter { true } else { false }
    }

    var isCancelled: Bool {
        if case .cancelled = waiter { true } else { false }
    }
}

extension MQTTMessage {
    /// The number of bytes that count towards the queue's limit.
    var size: Int {
        var size = payload.count + topic.utf8.count
        size += (responseTopic?.utf8.count ?? 0) + (correlation?.count ?? 0) + (contentType?.utf8.count ?? 0)
        for property in userProperties { size += property.name.utf8.count + property.value.utf8.count }
        return size
    }
}

/// The result of a message or request, to be delivered to its waiter outside any lock.
enum PublishCompletion {
    case publish(
        CheckedContinuation<Result<MQTTReceipt, MQTTPublishError>, Never>,
        Result<MQTTReceipt, MQTTPublishError>
    )
    case request(
        CheckedContinuation<Result<MQTTReply, MQTTPublishError>, Never>,
        Result<MQTTReply, MQTTPublishError>
    )
    /// No caller is waiting; the log reports that an offered message was not published.
    case offered(topic: String, MQTTPublishError)

    /// Resumes the waiter; an offered message has none.
    func resume() {
        switch self {
        case .publish(let waiter, let result): waiter.resume(returning: result)
        case .request(let waiter, let result): waiter.resume(returning: result)
        case .offered: break
        }
    }
}
