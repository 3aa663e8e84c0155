#if MQTT
import AdapterSupport
public import Logging
public import SignalboxCore

/// A client that publishes to a broker, with a separate connection and thread. A publisher is safe to use from any
/// thread.
///
/// Use this type to publish without receiving. For a source that also publishes, use ``MQTTPushAdapter/publisher``
/// instead.
///
/// A publisher is connected only while ``run()`` is active. Call ``run()`` in a separate task, and cancel that task
/// when you have no more messages to publish:
///
/// ```swift
/// let configuration = try MQTTPublisherConfiguration(source: "shop", broker: MQTTBroker(url: "mqtt://127.0.0.1"))
/// let publisher = try MQTTPublisher(configuration, logger: logger)
/// try await withThrowingTaskGroup(of: Void.self) { group in
///     group.addTask { try await publisher.run() }
///     try await publisher.publish(MQTTMessage("open", to: "shop/door"))
///     group.cancelAll()
/// }
/// ```
///
/// Messages wait in a queue that is bounded in messages and bytes. If the queue is full, publishing fails with
/// `queueFull`, so no message is dropped silently. Messages are sent in the order in which they were accepted. Requests
/// keep their order among themselves, but not relative to other messages.
///
/// Each connection starts a new session. If a connection breaks, QoS 1 messages that were not acknowledged are sent
/// again on the next connection. They are then new MQTT messages, because the DUP flag applies only within a session. A
/// QoS 1 message is therefore published at least once, and possibly more than once. A QoS 0 message that was being
/// written is lost and fails with `notConnected`.
///
/// An MQTT 3.1.1 broker cannot report that it refused a message, so a refused message appears to be published.
public final class MQTTPublisher: Sendable {
    /// The configuration of the publisher.
    public let configuration: MQTTPublisherConfiguration
    let queue: PublishQueue
    private let logger: Logger

    /// Creates a publisher, which connects only when you run it. Messages that you publish before the first run wait in
    /// the publisher's queue.
    ///
    /// - Parameters:
    ///   - configuration: The configuration, which the initializer validates.
    ///   - logger: The logger for connections and refused messages. Payloads and secrets are never logged.
    /// - Throws: ``MQTTPushError`` `invalidConfiguration` if a value is out of range or two values conflict.
    public init(_ configuration: MQTTPublisherConfiguration, logger: Logger) throws(MQTTPushError) {
        try configuration.validate()
        self.configuration = configuration
        self.logger = logger
        queue = PublishQueue(configuration)
    }

    /// The number of messages with each result since the publisher was created.
    public var counts: MQTTPublishCounts { queue.counts }

    /// Publishes until the task is cancelled, reconnecting as needed. Only one run may be active at a time, but you can
    /// run a publisher again after a run has ended.
    ///
    /// Cancelling the task stops the run gracefully. The publisher accepts no more messages, sends those in the queue,
    /// and waits up to ``MQTTPublisherConfiguration/stopTimeout`` for their acknowledgements. Any remaining messages
    /// then fail with `stopped`. If there is no connection, all messages fail with `stopped`.
    ///
    /// - Throws: ``MQTTPushError``, with one of these codes:
    ///   - `noResources` if the system has no thread, descriptor or memory left.
    ///   - `invalidConfiguration` if a run is already active.
    ///   - A code such as `notConnected` or `badCredentials` if the first connection failed. Such errors are thrown
    ///     only if ``MQTTPublisherConfiguration/firstConnectionMustSucceed`` is set.
    public func run() async throws {
        let run = try begin()
        try await withTaskCancellationHandler {
            try await run.ended()
        } onCancel: {
            run.stop()
        }
    }

    /// Starts a run that continues even if the caller's task is cancelled.
    func begin() throws(MQTTPushError) -> PublisherRun {
        LibraryWarning.warn(of: configuration, to: logger)
        return try PublisherRun(configuration, queue: queue, logger: logger)
    }

    /// Publishes a message and waits for the broker's acknowledgement.
    ///
    /// QoS 0 messages are not acknowledged, so for such a message, this method only waits until it is written to the
    /// socket.
    ///
    /// Use this method if you need to know the result. If you do not want to wait, use ``offer(_:)``.
    ///
    /// The wait is limited by ``MQTTPublisherConfiguration/publishTimeout``, which includes the time to connect. If the
    /// message was sent before the wait ended, it may have been published, and it is not sent again.
    ///
    /// - Parameter message: The message, which is checked before it is accepted.
    /// - Returns: The broker's acknowledgement.
    /// - Throws: ``MQTTPublishError`` `queueFull`, `denied` with the broker's reason code, `timeout`, `stopped`,
    ///   `cancelled`, `invalidMessage`, `tooLarge`, `unsupported`, `expired` or `notConnected`.
    @discardableResult
    public func publish(_ message: MQTTMessage) async throws(MQTTPublishError) -> MQTTReceipt {
        try message.validate(for: configuration.version)
        return try await queue.publish(message, limit: configuration.publishTimeout)
    }

    /// Does the same as ``publish(_:)``, and waits no longer than this timeout.
    @discardableResult
    package func publish(_ message: MQTTMessage, timeout: Duration) async throws(MQTTPublishError) -> MQTTReceipt {
        try message.validate(for: configuration.version)
        return try await queue.publish(message, limit: min(timeout, configuration.publishTimeout))
    }

    /// Queues a message and returns immediately, without blocking.
    ///
    /// If the message cannot be published later, the failure is counted in ``counts`` and logged. At most one line is
    /// logged per kind of error per minute.
    ///
    /// - Parameter message: The message. It is checked before it is accepted.
    /// - Throws: ``MQTTPublishError`` `queueFull`, `stopped`, `invalidMessage` or `tooLarge` if the message is not
    ///   accepted.
    public func offer(_ message: MQTTMessage) throws(MQTTPublishError) {
        try message.validate(for: configuration.version)
        try queue.offer(message)
    }

    /// Publishes a message as a request and waits for the reply (MQTT 5.0, 4.10).
    ///
    /// The publisher adds two MQTT 5 properties to the message: its own response topic, and correlation data that
    /// cannot be guessed. Each connection subscribes to the response topic when a request first needs it. If a
    /// connection breaks between the request and the reply, the reply may be lost. The request then fails with
    /// `timeout`.
    ///
    /// - Parameters:
    ///   - message: The message. It must not have a response topic or correlation data.
    ///   - timeout: The maximum time from the call to the reply, including the time to connect. It must be greater than
    ///     zero and at most 24 h.
    /// - Returns: The first reply.
    /// - Throws: The same errors as ``publish(_:)``, and ``MQTTPublishError`` `unsupported` if the connection uses MQTT
    ///   3.1.1.
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

    /// Calls an action in another program and waits for the reply.
    ///
    /// - Parameters:
    ///   - action: The name that the receiver uses to route the call.
    ///   - topic: The receiver's topic, with `{action}` and `{id}` as whole levels, as in ``MQTTPublishing/sendTopic``.
    ///     A new id is generated for each call.
    ///   - body: The body as JSON, or no bytes for a call without a body.
    ///   - timeout: The maximum time from the call to the reply, including the time to connect. It must be greater than
    ///     zero and at most 24 h.
    /// - Returns: The reply, regardless of its outcome. Check ``MQTTReply/outcome`` to see whether the action was
    ///   handled.
    /// - Throws: The same errors as ``request(_:timeout:)``.
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
#endif
