import AdapterSupport
public import Logging
public import SignalboxCore

/// A client that publishes to a broker, with its own connection and thread. Any thread may call it.
///
/// Messages wait in a queue that is bounded in messages and bytes. If it is full, the caller gets `queueFull`; nothing
/// is dropped silently. Messages are sent in order of acceptance; requests are ordered separately.
///
/// Each connection starts a new session. Messages that were unacknowledged when a connection broke are sent again on
/// the next one. They are new MQTT messages, without the DUP flag, which applies only within a session. A QoS 1 message
/// is therefore published at least once, possibly twice. A QoS 0 message is lost, and its caller gets `notConnected`.
///
/// An MQTT 3.1.1 broker cannot report that it refused a message, so a denied message appears to be published.
public final class MQTTPublisher: Sendable {
    /// The configuration of the publisher.
    public let configuration: MQTTPublisherConfiguration
    let queue: PublishQueue
    private let logger: Logger

    /// Creates a publisher. It connects when it runs; messages passed to it earlier wait in its queue.
    ///
    /// - Parameters:
    ///   - configuration: The configuration, validated here.
    ///   - logger: Receives connections and refused messages, never payloads or secrets.
    /// - Throws: ``MQTTPushError`` `invalidConfiguration`.
    public init(_ configuration: MQTTPublisherConfiguration, logger: Logger) throws(MQTTPushError) {
        try configuration.validate()
        self.configuration = configuration
        self.logger = logger
        queue = PublishQueue(configuration)
    }

    /// The numbers of messages by result since the publisher was created.
    public var counts: MQTTPublishCounts { queue.counts }

    /// Publishes until its task is cancelled, and reconnects as needed. One run at a time; a run may follow another.
    ///
    /// Cancellation stops the run gracefully. It accepts no more messages, sends those in the queue and waits up to
    /// ``MQTTPublisherConfiguration/stopTimeout`` for their acknowledgements. Messages that remain fail with `stopped`,
    /// as do all messages if there is no connection.
    ///
    /// - Throws: ``MQTTPushError`` `noResources` if the system has no thread, descriptor or memory left; `notConnected`
    ///   if ``MQTTPublisherConfiguration/firstConnectionMustSucceed`` is set; `invalidConfiguration` if a run is
    ///   already active.
    public func run() async throws {
        let run = try begin()
        try await withTaskCancellationHandler {
            try await run.ended()
        } onCancel: {
            run.stop()
        }
    }

    /// Starts a run that does not end with the caller's task.
    func begin() throws(MQTTPushError) -> PublisherRun {
        MosquittoVulnerabilities.warn(of: configuration, to: logger)
        return try PublisherRun(configuration, queue: queue, logger: logger)
    }

    /// Publishes a message and waits for the broker's acknowledgement; at QoS 0, until it is written to the socket.
    ///
    /// Waits up to ``MQTTPublisherConfiguration/publishTimeout``, including connecting. A message that was sent before
    /// the wait ended may still have been published; it is not sent again.
    ///
    /// - Parameter message: The message, checked before it is accepted.
    /// - Returns: The broker's acknowledgement.
    /// - Throws: ``MQTTPublishError`` `queueFull`, `denied` with the broker's reason code, `timeout`, `stopped`,
    ///   `cancelled`, `invalidMessage`, `tooLarge`, `unsupported`, `expired` or `notConnected`.
    @discardableResult
    public func publish(_ message: MQTTMessage) async throws(MQTTPublishError) -> MQTTReceipt {
        try message.validate(for: configuration.version)
        return try await queue.publish(message, limit: configuration.publishTimeout)
    }

    /// Queues a message and returns immediately. Never blocks.
    ///
    /// A later refusal is counted in ``counts`` and logged, at most one line per minute.
    ///
    /// - Parameter message: The message, checked before it is accepted.
    /// - Throws: ``MQTTPublishError`` `queueFull`, `stopped`, `invalidMessage` or `tooLarge` if it was not accepted.
    public func offer(_ message: MQTTMessage) throws(MQTTPublishError) {
        try message.validate(for: configuration.version)
        try queue.offer(message)
    }

    /// Publishes a message with the publisher's own Response Topic and unguessable Correlation Data, and waits for the
    /// reply (MQTT 5.0, 4.10).
    ///
    /// Each connection subscribes to the response topic when a request first needs it. If a connection breaks between
    /// request and reply, the reply may be lost, and the request ends with `timeout`.
    ///
    /// - Parameters:
    ///   - message: The message, without response topic and correlation.
    ///   - timeout: The time from the call to the reply, including connecting; above zero, at most 24 h.
    /// - Returns: The first reply.
    /// - Throws: ``MQTTPublishError`` as ``publish(_:)`` does, and `unsupported` with MQTT 3.1.1.
    public func request(_ message: MQTTMessage, timeout: Duration) async throws(MQTTPublishError) -> MQTTReply {
        guard configuration.version == .v5 else {
            throw MQTTPublishError(
                .unsupported,
                "requests need MQTT 5: MQTT 3.1.1 has no response topic; use MQTT 5"
            )
        }
        guard message.responseTopic == nil, message.correlation == nil else {
            throw .invalid("the publisher sets a request's response topic and correlation data: leave them out")
        }
        guard timeout > .zero, timeout <= .seconds(86_400) else {
            throw .invalid("the timeout of a request must be above zero and at most 24 h")
        }
        let request = queue.prepare(message)
        try request.validate(for: configuration.version)
        return try await queue.request(request, limit: timeout)
    }

    /// Calls an action of another program and waits for its reply.
    ///
    /// - Parameters:
    ///   - action: The name by which the receiver routes the call.
    ///   - topic: The receiver's topic, with `{action}` and `{id}` as whole levels, as in ``MQTTPublishing/sendTopic``.
    ///     Each call generates a new id.
    ///   - body: The body as JSON; empty for none.
    ///   - timeout: The time from the call to the reply, including connecting; above zero, at most 24 h.
    /// - Returns: The reply, whatever its outcome: see ``MQTTReply/outcome``.
    /// - Throws: ``MQTTPublishError`` as ``request(_:timeout:)`` does.
    public func call(
        _ action: ActionName,
        topic: String,
        body: Bytes,
        timeout: Duration
    ) async throws(MQTTPublishError) -> MQTTReply {
        let send = try SendTopic(topic)
        let message = try send.message(action, id: SendTopic.newID(), body: body, version: configuration.version)
        return try await request(message, timeout: timeout)
    }
}

/// The numbers of a publisher's messages since it was created. Each accepted message counts in exactly one of
/// ``waiting``, ``published`` and ``failed``.
public struct MQTTPublishCounts: Sendable, Hashable {
    /// Messages accepted from `publish`, `offer`, `request`, `call`, a sender, or as replies to requests.
    public internal(set) var accepted = 0
    /// Messages currently queued or unacknowledged.
    public internal(set) var waiting = 0
    /// The current size of these messages in bytes: payloads, topics and properties.
    public internal(set) var waitingBytes = 0
    /// Messages that the broker accepted: acknowledged, or at QoS 0 written to the socket.
    public internal(set) var published = 0
    /// Messages that were accepted but, as far as is known, not published.
    public internal(set) var failed = 0
    /// The failed messages that the broker refused with a reason code.
    public internal(set) var denied = 0
    /// The failed messages that a stop ended.
    public internal(set) var stopped = 0
    /// Messages that were not accepted because the queue was full.
    public internal(set) var queueFull = 0
    /// Messages resent because a connection broke before their acknowledgement; subscribers may get them twice.
    public internal(set) var resent = 0
    /// Replies that matched a request.
    public internal(set) var replies = 0
    /// Replies to requests that had already ended.
    public internal(set) var lateReplies = 0
    /// Messages on the response topic that match no request: forged or duplicate replies.
    public internal(set) var unmatchedReplies = 0
}

/// The reason why a message was not published or a request has no reply. Never contains a payload or a secret.
public struct MQTTPublishError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of error; more may be added.
    public struct Code: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
        /// The name used in logs, such as `queueFull`.
        public let rawValue: String

        /// Creates a code by its name.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// The queue is full, or too many requests are waiting for replies. The message was not accepted.
        public static let queueFull = Code(rawValue: "queueFull")
        /// The broker refused the message or the subscription to the response topic, with the reason code.
        public static let denied = Code(rawValue: "denied")
        /// The time limit passed. The detail states whether the message was sent and so may have been published.
        public static let timeout = Code(rawValue: "timeout")
        /// The publisher stopped first, or is not running.
        public static let stopped = Code(rawValue: "stopped")
        /// The waiting task was cancelled. The detail states whether the message may have been published.
        public static let cancelled = Code(rawValue: "cancelled")
        /// The topic or a property is invalid.
        public static let invalidMessage = Code(rawValue: "invalidMessage")
        /// The message exceeds the limit of the queue or the broker, or the reply exceeds the configured limit.
        public static let tooLarge = Code(rawValue: "tooLarge")
        /// The protocol or broker lacks the feature: requests need MQTT 5, and some brokers do not retain messages.
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
    /// The broker's reason code (MQTT 5.0, 2.4), 128 or more, if it sent one.
    public let reasonCode: Int?
    /// A sentence that states the error and how to fix it.
    public let detail: String

    init(_ code: Code, _ detail: String, reasonCode: Int? = nil) {
        self.code = code
        self.reasonCode = reasonCode
        self.detail = detail
    }

    /// The detail.
    public var description: String { detail }
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
        case .timeout: MQTTPublishError(.timeout, "the time limit passed" + tail(wasSent))
        case .cancelled: MQTTPublishError(.cancelled, "the task was cancelled" + tail(wasSent))
        }
    }

    static func publisherStopped(wasSent: Bool) -> MQTTPublishError {
        MQTTPublishError(.stopped, "the publisher stopped" + tail(wasSent))
    }

    private static func tail(_ wasSent: Bool) -> String {
        wasSent
            ? " after the message was sent and before it was answered: it may have been published"
            : " before the message was sent: it was not published"
    }
}
