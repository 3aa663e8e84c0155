#if MQTT
/// A message that the publisher has accepted but the broker has not acknowledged yet.
struct PublishEntry {
    /// What is waiting for the message's result.
    enum Waiter {
        /// The message was offered, so no caller is waiting.
        case fireAndForget
        case publish(CheckedContinuation<Result<MQTTReceipt, MQTTPublishError>, Never>)
        /// The request with this correlation is waiting for the acknowledgement and for a reply.
        case request([UInt8])
        /// The caller stopped waiting after the message was sent. The entry remains until the message is acknowledged
        /// or the connection ends, because its packet identifier is in use until then.
        case cancelled
    }

    let message: MQTTMessage
    let size: Int
    /// When the message expires.
    let expires: ContinuousClock.Instant?
    var waiter: Waiter
    /// When the message was passed to the current connection, or `nil` if it has not been passed to it.
    var sentAt: ContinuousClock.Instant?
    /// Whether the message was ever passed to any connection, in which case it may have been published.
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

/// The result of a message or request, to be delivered to the waiter outside any lock.
enum PublishCompletion {
    case publish(
        CheckedContinuation<Result<MQTTReceipt, MQTTPublishError>, Never>,
        Result<MQTTReceipt, MQTTPublishError>
    )
    case request(
        CheckedContinuation<Result<MQTTReply, MQTTPublishError>, Never>,
        Result<MQTTReply, MQTTPublishError>
    )
    /// An offered message was not published. This is reported in the log, because no caller is waiting.
    case offered(topic: String, MQTTPublishError)

    /// Resumes the waiter, if there is one. An offered message has no waiter.
    func resume() {
        switch self {
        case .publish(let waiter, let result): waiter.resume(returning: result)
        case .request(let waiter, let result): waiter.resume(returning: result)
        case .offered: break
        }
    }
}
#endif
