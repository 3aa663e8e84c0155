import AdapterSupport
import SignalboxCore

/// The reason why a message was not published, or why a request has no reply. An error never contains payloads or
/// secrets.
public struct MQTTPublishError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of error. Later versions may add more, so handle unknown codes as well.
    public struct Code: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
        /// The name used in logs, such as `queueFull`.
        public let rawValue: String

        /// Creates a code from its name.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// The queue is full, or too many requests are waiting for replies. The message was not accepted.
        public static let queueFull = Code(rawValue: "queueFull")
        /// The broker refused the message or the subscription to the response topic. The error includes the reason
        /// code.
        public static let denied = Code(rawValue: "denied")
        /// The time limit expired. The error's ``detail`` states whether the message was sent, in which case it may
        /// have been published.
        public static let timeout = Code(rawValue: "timeout")
        /// The publisher stopped before the message was published or answered, or had already stopped when the message
        /// was submitted.
        public static let stopped = Code(rawValue: "stopped")
        /// The waiting task was cancelled. The error's ``detail`` states whether the message may have been published.
        public static let cancelled = Code(rawValue: "cancelled")
        /// The topic or a property is invalid.
        public static let invalidMessage = Code(rawValue: "invalidMessage")
        /// The message exceeds the size limit of the queue or the broker, or the reply exceeds the configured size
        /// limit.
        public static let tooLarge = Code(rawValue: "tooLarge")
        /// A feature is not supported by the protocol or the broker. For example, requests need MQTT 5, and some
        /// brokers do not retain messages.
        public static let unsupported = Code(rawValue: "unsupported")
        /// A QoS 0 message was lost because the connection broke while it was being written.
        public static let notConnected = Code(rawValue: "notConnected")
        /// The message expired before it could be sent.
        public static let expired = Code(rawValue: "expired")

        /// The name.
        public var description: String { rawValue }
    }

    /// The kind of error.
    public let code: Code
    /// The broker's reason code (MQTT 5.0, 2.4), if it sent one. It is 128 or more.
    public let reasonCode: Int?
    /// A description of the error and of how to fix it.
    public let detail: String

    init(_ code: Code, _ detail: String, reasonCode: Int? = nil) {
        self.code = code
        self.reasonCode = reasonCode
        self.detail = detail
    }

    /// The detail, followed by the code, such as `[MQTTPublishError.timeout]`.
    public var description: String { coded(detail) }
}

extension MQTTPublishError: CodedError {
    /// The name of ``code``.
    package var codeName: String { code.rawValue }
}

extension MQTTPublishError {
    static let notRunning = MQTTPublishError(.stopped, "the publisher has stopped and accepts no messages")
    static let hasExpired = MQTTPublishError(.expired, "the message expired before it could be sent")
    static let lostWithConnection = MQTTPublishError(
        .notConnected,
        "the connection broke while the message was being written; a QoS 0 message is not sent again"
    )

    static func invalid(_ detail: String) -> MQTTPublishError {
        MQTTPublishError(.invalidMessage, detail)
    }

    static func full(_ limits: MQTTPublisherConfiguration) -> MQTTPublishError {
        MQTTPublishError(
            .queueFull,
            "the queue has \(limits.queuedMessages) messages or \(limits.queuedBytes) bytes, the maximum: publish more "
                + "slowly, or raise queuedMessages or queuedBytes"
        )
    }

    static func manyRequests(_ limits: MQTTPublisherConfiguration) -> MQTTPublishError {
        MQTTPublishError(
            .queueFull,
            "\(limits.requestsInFlight) requests wait for replies, the maximum: send fewer at once, or raise "
                + "requestsInFlight"
        )
    }

    static func denied(_ code: ReasonCode) -> MQTTPublishError {
        MQTTPublishError(
            .denied,
            "the broker refused the message: \(code.text)",
            reasonCode: Int(code.rawValue)
        )
    }

    static func waitEnded(_ end: WaitEnd, wasSent: Bool) -> MQTTPublishError {
        switch end {
        case .timeout: MQTTPublishError(.timeout, "timed out" + tail(wasSent))
        case .cancelled: MQTTPublishError(.cancelled, "cancelled" + tail(wasSent))
        }
    }

    static func publisherStopped(wasSent: Bool) -> MQTTPublishError {
        MQTTPublishError(.stopped, "the publisher stopped" + tail(wasSent))
    }

    private static func tail(_ wasSent: Bool) -> String {
        wasSent
            ? " after the message was sent and before it was answered: it may have been published"
            : " before the message was sent"
    }
}
