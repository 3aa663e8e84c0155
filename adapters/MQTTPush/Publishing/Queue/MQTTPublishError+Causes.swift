extension MQTTPublishError {
    static let notRunning = MQTTPublishError(.stopped, "the publisher has stopped and takes no messages")
    static let hasExpired = MQTTPublishError(.expired, "the message's expiry was over before it could be sent")
    static let lostWithConnection = MQTTPublishError(
        .notConnected,
        "the connection broke while the message was written; at QoS 0 it is not sent again"
    )

    static func full(_ limits: PublishLimits) -> MQTTPublishError {
        MQTTPublishError(
            .queueFull,
            "the queue has \(limits.messages) messages or \(limits.bytes) bytes, as many as it may: publish more slowly, or "
                + "raise queuedMessages or queuedBytes"
        )
    }

    static func manyRequests(_ limits: PublishLimits) -> MQTTPublishError {
        MQTTPublishError(
            .queueFull,
            "\(limits.requests) requests wait for replies, as many as may: ask more slowly, or raise requestsInFlight"
        )
    }

    static func denied(_ code: ReasonCode) -> MQTTPublishError {
        MQTTPublishError(
            .denied,
            "the broker refused the message: \(code.text)",
            reasonCode: Int(code.rawValue)
        )
    }

    static func givenUp(_ code: Code, wasSent: Bool) -> MQTTPublishError {
        let what = code == .timeout ? "the time was over" : "the task was cancelled"
        return MQTTPublishError(code, what + tail(wasSent))
    }

    static func notSent(wasSent: Bool) -> MQTTPublishError {
        MQTTPublishError(.stopped, "the publisher stopped" + tail(wasSent))
    }

    private static func tail(_ wasSent: Bool) -> String {
        wasSent
            ? " after the message was sent and before it was answered: it may have been published"
            : " before the message was sent: it was not published"
    }
}
