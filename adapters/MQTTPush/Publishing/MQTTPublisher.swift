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
