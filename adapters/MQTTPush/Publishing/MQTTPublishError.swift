/// Why a message was not published, or a request has no reply. Never contains a payload or a secret.
public struct MQTTPublishError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of error; more may be added.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Word: String {
            case queueFull, denied, timeout, stopped, cancelled, invalidMessage, tooLarge, unsupported, expired
            case notConnected
        }
        private let word: Word

        /// The queue has as many messages or bytes as it may, or as many requests wait for replies as may; nothing was taken.
        public static let queueFull = Code(word: .queueFull)
        /// The broker refused the message, or the subscription to the response topic, for the reason code.
        public static let denied = Code(word: .denied)
        /// The time was over: the detail says whether the message was sent, and so may have been published.
        public static let timeout = Code(word: .timeout)
        /// The publisher stopped first, or does not run any more.
        public static let stopped = Code(word: .stopped)
        /// The task that waited was cancelled: the detail says whether the message may have been published.
        public static let cancelled = Code(word: .cancelled)
        /// The topic or a property cannot be published.
        public static let invalidMessage = Code(word: .invalidMessage)
        /// The message is larger than the queue or the broker takes, or the reply larger than the configuration does.
        public static let tooLarge = Code(word: .tooLarge)
        /// The protocol version or the broker cannot do this: requests need MQTT 5, and some brokers have no retained messages.
        public static let unsupported = Code(word: .unsupported)
        /// A message of QoS 0 was lost as the connection broke while it was written.
        public static let notConnected = Code(word: .notConnected)
        /// The message's own expiry was over before it could be sent.
        public static let expired = Code(word: .expired)

        /// The word used in logs, such as `queueFull`.
        public var description: String { word.rawValue }
    }

    /// What kind of error this is.
    public let code: Code
    /// The broker's reason code (MQTT 5.0, 2.4), 128 or more, where it gave one.
    public let reasonCode: Int?
    /// What is wrong and what to do about it, in a sentence.
    public let detail: String

    init(_ code: Code, _ detail: String, reasonCode: Int? = nil) {
        self.code = code
        self.reasonCode = reasonCode
        self.detail = detail
    }

    /// The detail.
    public var description: String { detail }
}
