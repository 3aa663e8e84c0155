public import Logging
public import SignalboxCore

/// Publishes to a broker, with a connection and a thread of its own. Any thread may call it.
///
/// What it is given waits in a queue that is bounded in messages and bytes; when it is full the caller gets `queueFull`, and
/// nothing is dropped in silence. It is sent in the order in which it was given, requests among themselves and all else among
/// itself.
///
/// Each connection begins a session of its own. What is not acknowledged when a connection breaks is sent again on the next
/// one, as a new message in the sense of MQTT: without the DUP flag, which speaks of one session's packets. So a message at
/// QoS 1 is published at least once, and perhaps twice; at QoS 0 it is lost then, and its caller gets `notConnected`.
///
/// With MQTT 3.1.1 a broker cannot say that it refused a message: a denied one looks as if it were published.
public final class MQTTPublisher: Sendable {
    /// What the publisher was made with.
    public let configuration: MQTTPublisherConfiguration
    let queue: PublishQueue
    private let logger: Logger

    /// A publisher that is not connected until it runs; what is given to it before waits.
    ///
    /// - Parameters:
    ///   - configuration: checked here.
    ///   - logger: hears of connections and refused messages; never of payloads and secrets.
    /// - Throws: ``MQTTPushError`` `invalidConfiguration`.
    public init(_ configuration: MQTTPublisherConfiguration, logger: Logger) throws(MQTTPushError) {
        try configuration.validate()
        self.configuration = configuration
        self.logger = logger
        queue = PublishQueue(configuration)
    }

    /// What was published, refused and lost since the publisher was made.
    public var counts: MQTTPublishCounts { queue.counts }

    /// Publishes until its task is cancelled; reconnects for ever in between. One run at a time; runs may follow each other.
    ///
    /// Cancellation is the graceful stop: nothing more is taken, what is queued is sent and its acknowledgements are waited
    /// for, at most ``MQTTPublisherConfiguration/stopTimeout``; the rest, and everything where there is no connection then,
    /// ends with `stopped`.
    ///
    /// - Throws: ``MQTTPushError`` `noResources` when the system gives no thread, descriptor or memory, `notConnected` where
    ///   ``MQTTPublisherConfiguration/firstConnectionMustSucceed`` asks for it, `invalidConfiguration` when it runs already.
    public func run() async throws {
        let run = try begin()
        try await withTaskCancellationHandler {
            try await run.ended()
        } onCancel: {
            run.stop()
        }
    }

    /// Begins a run that does not end with the caller's task.
    func begin() throws(MQTTPushError) -> PublisherRun {
        MosquittoFaults.warn(of: configuration.broker, configuration.version, configuration.security, to: logger)
        return try PublisherRun(configuration, queue: queue, logger: logger)
    }

    /// Publishes a message and waits until the broker has taken it: its acknowledgement at QoS 1, the socket at QoS 0.
    ///
    /// Waits at most ``MQTTPublisherConfiguration/publishTimeout``, connecting included. A message that was sent when the wait
    /// ends may have been published all the same; it is not sent again.
    ///
    /// - Parameter message: checked before it is taken.
    /// - Returns: what the broker said.
    /// - Throws: ``MQTTPublishError``: `queueFull`, `denied` with the broker's reason code, `timeout`, `stopped`, `cancelled`,
    ///   `invalidMessage`, `tooLarge`, `unsupported`, `expired`, `notConnected`.
    @discardableResult
    public func publish(_ message: MQTTMessage) async throws(MQTTPublishError) -> MQTTReceipt {
        try PublishCheck(configuration).check(message)
        return try await queue.publish(message, limit: configuration.publishTimeout)
    }

    /// Hands a message over and returns at once. Never blocks.
    ///
    /// A later refusal is counted in ``counts`` and logged, a line a minute at most.
    ///
    /// - Parameter message: checked before it is taken.
    /// - Throws: ``MQTTPublishError`` `queueFull`, `stopped`, `invalidMessage`, `tooLarge` when it was not taken.
    public func offer(_ message: MQTTMessage) throws(MQTTPublishError) {
        try PublishCheck(configuration).check(message)
        try queue.offer(message)
    }

    /// Publishes a message with a Response Topic of this publisher's own and Correlation Data that nobody can guess, and
    /// waits for the answer (MQTT 5.0, 4.10).
    ///
    /// The answer's topic is subscribed at the first request, and again at each connection after. When a connection breaks
    /// between request and answer the answer may be lost, and the request ends with `timeout`.
    ///
    /// - Parameters:
    ///   - message: without response topic and correlation.
    ///   - timeout: from the call to the answer, connecting included; above zero, at most 24 h.
    /// - Returns: the first answer.
    /// - Throws: ``MQTTPublishError``: as ``publish(_:)``, and `unsupported` with MQTT 3.1.1, which has no response topics.
    public func request(_ message: MQTTMessage, timeout: Duration) async throws(MQTTPublishError) -> MQTTReply {
        guard configuration.version == .v5 else {
            throw MQTTPublishError(
                .unsupported,
                "requests need MQTT 5: MQTT 3.1.1 has no response topic; set the version to 5"
            )
        }
        guard message.responseTopic == nil, message.correlation == nil else {
            throw MQTTPublishError(
                .invalidMessage,
                "a request's response topic and correlation are the publisher's: leave them out"
            )
        }
        guard timeout > .zero, timeout <= .seconds(86_400) else {
            throw MQTTPublishError(.invalidMessage, "the timeout of a request is above zero, and at most 24 h")
        }
        let request = queue.prepare(message)
        try PublishCheck(configuration).check(request)
        return try await queue.request(request, limit: timeout)
    }

    /// Calls an action of another program and waits for its answer.
    ///
    /// - Parameters:
    ///   - action: the name the other side routes by.
    ///   - topic: where it listens, with `{action}` and `{id}` as whole levels, as
    ///     ``MQTTPublishing/sendTopic`` has them; the id is made anew.
    ///   - body: the body as JSON; empty for none.
    ///   - timeout: from the call to the answer, connecting included; above zero, at most 24 h.
    /// - Returns: the answer, whatever its outcome: see ``MQTTReply/outcome``.
    /// - Throws: ``MQTTPublishError``: as ``request(_:timeout:)``.
    public func call(
        _ action: ActionName,
        topic: String,
        body: Bytes,
        timeout: Duration
    ) async throws(MQTTPublishError) -> MQTTReply {
        let send = try SendTopic(topic)
        let message = try send.message(action, id: SendTopic.freshID(), body: body, version: configuration.version)
        return try await request(message, timeout: timeout)
    }
}

/// What a publisher did since it was made: every message it was given is in exactly one of ``waiting``, ``published`` and
/// ``failed``.
public struct MQTTPublishCounts: Sendable, Hashable {
    /// Messages that were taken: by `publish`, `offer`, `request`, `call`, a sender, and answers to requests.
    public internal(set) var taken = 0
    /// Messages that are queued or not answered yet, now.
    public internal(set) var waiting = 0
    /// Their bytes, now: payloads, topics and properties.
    public internal(set) var waitingBytes = 0
    /// Messages that the broker took: acknowledged, or at QoS 0 written to the socket.
    public internal(set) var published = 0
    /// Messages that were taken and then not published, as far as is known.
    public internal(set) var failed = 0
    /// Of ``failed``: those that the broker refused with a reason code.
    public internal(set) var denied = 0
    /// Of ``failed``: those that a stop ended.
    public internal(set) var stopped = 0
    /// Messages that were not taken as the queue was full.
    public internal(set) var refusedAsFull = 0
    /// Messages that were sent once more as a connection broke before they were acknowledged: subscribers may have them
    /// twice.
    public internal(set) var sentAgain = 0
    /// Replies that met their request.
    public internal(set) var replies = 0
    /// Replies to requests that had ended already.
    public internal(set) var lateReplies = 0
    /// Messages on the response topic that belong to no request: forged, or repeated.
    public internal(set) var strayReplies = 0
}

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
