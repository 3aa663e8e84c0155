/// What became of a message or a request, to be told to whoever waits, outside any lock.
enum PublishEnding {
    case publish(
        CheckedContinuation<Result<MQTTReceipt, MQTTPublishError>, Never>,
        Result<MQTTReceipt, MQTTPublishError>
    )
    case request(
        CheckedContinuation<Result<MQTTReply, MQTTPublishError>, Never>,
        Result<MQTTReply, MQTTPublishError>
    )
    /// Nobody waits for it: the log says that an offered message was not published.
    case offered(topic: String, MQTTPublishError)

    /// Tells the waiter; an offered message has none.
    func resume() {
        switch self {
        case .publish(let waiter, let result): waiter.resume(returning: result)
        case .request(let waiter, let result): waiter.resume(returning: result)
        case .offered: break
        }
    }
}
