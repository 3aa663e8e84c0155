#if MQTT
import AdapterSupport
public import Logging
public import SignalboxCore

/// An adapter that receives messages from an MQTT broker, with at-least-once delivery.
///
/// Use this adapter to turn a broker's messages into actions:
///
/// ```swift
/// let push = try MQTTPushConfiguration(
///     source: "push",
///     broker: MQTTBroker(url: "mqtts://broker.example"),
///     topics: [MQTTTopic(TopicPattern("push/{device}/{action}"))],
///     clientID: .fixed("kiosk-1")
/// )
/// try supervisor.add(MQTTPushAdapter(push, logger: logger))
/// ```
///
/// A run uses one thread, which has one connection at a time. Each entry in ``MQTTPushConfiguration/connections`` adds
/// another thread and connection.
///
/// The adapter acknowledges each message by itself, when the message and all earlier messages of its connection are
/// settled or journalled. The broker therefore still has any message that the process loses. A slow message delays the
/// acknowledgements of later messages, but not their handling: up to ``MQTTPushConfiguration/receiveMaximum`` messages
/// are in progress at the same time.
///
/// If a QoS 1 message is abandoned, the adapter waits for the other messages in progress and drops the connection. The
/// broker then redelivers the message and all QoS 1 messages behind it, including those that were handled in the
/// meantime. The supervisor can deduplicate them by id. An abandoned QoS 0 message is lost.
///
/// Configure the broker to keep all undelivered messages. For mosquitto, set `max_queued_messages 0`. By default,
/// mosquitto silently drops messages beyond 1,000.
public struct MQTTPushAdapter: Adapter, InFlightLimitedAdapter, ConnectingAdapter {
    /// The configuration of the adapter.
    public let configuration: MQTTPushConfiguration
    /// The client that publishes, or `nil` if ``MQTTPushConfiguration/publishing`` is `nil`.
    ///
    /// The publisher runs while the adapter runs. Messages that you publish before the first run wait in the
    /// publisher's queue.
    public let publisher: MQTTPublisher?
    /// The responder that replies to requests, or `nil` if there are no reply topics.
    private let responder: Responder?
    /// The sender that plugins receive as `context.sender`, or `nil` if there is no send topic.
    private let sender: PushSender?
    private let logger: Logger
    private let sessionEnd = SessionEnd()
    let parts: [(configuration: MQTTPushConfiguration, subscriptions: SubscriptionManager)]

    /// - Parameters:
    ///   - configuration: The configuration, which the initializer validates.
    ///   - logger: The logger for connections, refusals and lost sessions. Payloads and secrets are never logged.
    /// - Throws: ``MQTTPushError`` `invalidConfiguration` if a value is out of range or two values conflict.
    public init(_ configuration: MQTTPushConfiguration, logger: Logger) throws(MQTTPushError) {
        try configuration.validate()
        self.configuration = configuration
        self.logger = logger
        parts = configuration.perConnection.map { ($0, SubscriptionManager($0.topics, former: $0.formerTopics)) }
        guard let publishing = configuration.publishing, let settings = configuration.publisher else {
            (publisher, responder, sender) = (nil, nil, nil)
            return
        }
        let publisher = try MQTTPublisher(settings, logger: logger)
        self.publisher = publisher
        responder = publishing.replyTopics.isEmpty ? nil : Responder(publishing, publisher: publisher)
        let topic = publishing.sendTopic.flatMap { try? SendTopic($0) }
        sender = topic.map { PushSender(topic: $0, publisher: publisher) }
    }

    /// The source given in the configuration.
    public var source: SourceName { configuration.source }

    /// The features of this source.
    ///
    /// Unacknowledged messages are redelivered with the id that the publisher set in the payload or in the topic.
    /// Replies require ``MQTTPublishing/replyTopics``, and a sender requires ``MQTTPublishing/sendTopic``.
    public var features: AdapterFeatures {
        var features: AdapterFeatures = [.redelivers, .stableIDs]
        if responder != nil { features.insert(.replies) }
        if sender != nil { features.insert(.pushes) }
        return features
    }

    /// The receive maximum of one connection, even if there are several.
    package var maximumUnsettled: Int { configuration.receiveMaximum }

    /// The problem of the first receiving connection that is not open.
    package var connectionProblem: String? { parts.lazy.compactMap(\.subscriptions.connection.problem).first }

    /// The number of requests with each result. All are 0 if the source does not answer requests.
    public var replyCounts: MQTTReplyCounts { responder?.counts ?? MQTTReplyCounts() }

    /// Calls an action in another program through ``MQTTPublishing/sendTopic``, and waits for the reply.
    ///
    /// - Parameters:
    ///   - action: The name that the receiver uses to route the call.
    ///   - body: The body as JSON, or no bytes for a call without a body.
    ///   - timeout: The maximum time from the call to the reply, including the time to connect. It must be greater than
    ///     zero and at most 24 h.
    /// - Returns: The reply, regardless of its outcome. Check ``MQTTReply/outcome`` to see whether the action was
    ///   handled.
    /// - Throws: The same errors as ``MQTTPublisher/request(_:timeout:)``, and ``MQTTPublishError`` `unsupported` if
    ///   the source has no send topic.
    public func call(
        _ action: ActionName,
        body: Bytes,
        timeout: Duration
    ) async throws(MQTTPublishError) -> MQTTReply {
        guard let publisher, let topic = configuration.publishing?.sendTopic else {
            throw MQTTPublishError(.unsupported, "the source has no topic to send to: set publishing.sendTopic")
        }
        return try await publisher.call(action, topic: topic, body: body, timeout: timeout)
    }

    /// Subscribes to another topic without interrupting the existing subscriptions.
    ///
    /// Use this method if a program's topics change while it runs. The topic also applies to later connections and
    /// later runs of this adapter. A connection can have at most 1,000 topics.
    ///
    /// If there is a connection, this method waits until the broker has answered.
    /// Cancelling the task does not end this wait.
    ///
    /// - Parameters:
    ///   - topic: The topic. If a message also matches a topic that was added earlier, the earlier topic takes
    ///     precedence.
    ///   - connection: The name of one of ``MQTTPushConfiguration/connections``. The default is the source's own
    ///     connection.
    /// - Returns: `done` when the broker has granted the subscription, or `pending` if there is no connection.
    /// - Throws: ``MQTTPushError``, with one of these codes:
    ///   - `invalidConfiguration` if the topic is invalid, the connection already has the topic, the connection already
    ///     has 1,000 topics, or the connection does not exist.
    ///   - `subscriptionRefused` if the broker refuses the topic. The topic is then discarded.
    @discardableResult
    public func add(_ topic: MQTTTopic, to connection: String? = nil) async throws(MQTTPushError) -> MQTTTopicState {
        try await subscriptions(of: connection).add(topic)
    }

    /// Ends a subscription without interrupting the others.
    ///
    /// The broker still delivers the topic's messages that it already holds for the session. Such messages may arrive
    /// after this method returns (MQTT 5.0, 3.10.4), or on a later connection. If the process restarts before they
    /// arrive, the new process does not know the topic, so the messages are `rejected(malformed)`.
    ///
    /// The removal also applies to later connections and later runs of this adapter. You cannot remove a connection's
    /// last topic.
    ///
    /// This method waits in the same way as ``add(_:to:)``. If the topic is added again during this wait, the
    /// subscription remains.
    ///
    /// - Parameters:
    ///   - filter: The filter as it is sent to the broker, with `+` and `#` in place of captures. If the subscription
    ///     is shared, the filter begins with `$share/GROUP/`.
    ///   - connection: The name of one of ``MQTTPushConfiguration/connections``. The default is the source's own
    ///     connection.
    /// - Returns: `done` when the broker has ended the subscription, or `pending` if there is no connection.
    /// - Throws: ``MQTTPushError``, with one of these codes:
    ///   - `invalidConfiguration` if the topic or connection does not exist, the topic is the connection's last one, or
    ///     1,000 removals are already pending.
    ///   - `subscriptionRefused` if the broker refuses to end the subscription (MQTT 5.0, 3.11.3). Its messages still
    ///     arrive and are read as before.
    @discardableResult
    public func remove(_ filter: String, from connection: String? = nil) async throws(MQTTPushError) -> MQTTTopicState {
        try await subscriptions(of: connection).remove(filter)
    }

    /// Leaves the groups of a connection: ends its shared subscriptions, and waits until the messages that the broker has
    /// already assigned to it are acknowledged. Other subscriptions stay.
    ///
    /// Use this method before you stop a worker that is not about to start again: call it, and then stop the run. The
    /// broker assigns all further messages of the group to its other members. If there are none, these messages are
    /// lost. When the run ends, the departure ends too, and the next run subscribes to the group again.
    ///
    /// Without a connection, this method waits for one. If it ends at the limit, the departure continues as long as the
    /// run. Messages that have not arrived by its end stay in the session, and no other member gets them.
    ///
    /// - Parameters:
    ///   - connection: The name of one of ``MQTTPushConfiguration/connections``. The default is the source's own
    ///     connection.
    ///   - limit: The maximum duration. Cancelling the task ends the wait earlier.
    /// - Returns: What the departure has reached. It is `done` if no topic of the connection is shared.
    /// - Throws: ``MQTTPushError`` `invalidConfiguration` if the connection does not exist.
    public func leaveGroups(
        of connection: String? = nil,
        within limit: Duration
    ) async throws(MQTTPushError) -> MQTTGroupDeparture {
        let subscriptions = try subscriptions(of: connection)
        guard let end = subscriptions.leaveGroups() else { return .done }
        let departure = await withTaskGroup(of: MQTTGroupDeparture?.self) { group in
            group.addTask { await end.valueUnlessCancelled() }
            group.addTask {
                try? await Task.sleep(for: limit)
                return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
        return departure ?? end.current ?? subscriptions.departure
    }

    /// Makes each stop of a run end the sessions of the source, too (MQTT 5.0, 3.14.2.2.2). The broker then discards their
    /// subscriptions, the messages that wait in them, and those that were not acknowledged.
    ///
    /// Use this method for a source that you remove for good: call it, and then stop the run. It has no effect on a run
    /// that is not connected when it stops, or that uses MQTT 3.1.1. Use ``MQTTSession/end()`` in these cases.
    public func endSessionsOnStop() {
        sessionEnd.request()
    }

    /// When the broker answered for the topics of the source's own connection, or `nil` if it has not, or there is no
    /// connection. It may have sent retained messages before.
    package var subscribedAt: ContinuousClock.Instant? { parts.first?.subscriptions.answeredAt }

    private func subscriptions(of connection: String?) throws(MQTTPushError) -> SubscriptionManager {
        guard let part = parts.first(where: { $0.configuration.connectionName == connection }) else {
            throw .noConnection(source: source)
        }
        return part.subscriptions
    }

    /// Receives messages until the task is cancelled or the intake closes, reconnecting as needed.
    ///
    /// Cancelling the task stops the run gracefully. The run stops reading and waits until all messages that it has
    /// taken are settled. It then acknowledges these messages, sends a DISCONNECT packet that leaves the session in
    /// place, and waits up to ``MQTTPushConfiguration/lingerTimeout`` for the broker to read everything.
    ///
    /// If the run has no connection yet or is waiting to reconnect, it stops at once. The system calls that read files
    /// and secrets cannot be interrupted. If the run's thread is in such a call, the run ends without waiting for the
    /// thread, which ends later.
    ///
    /// Only one run may be active at a time. Two runs would use the same client id and keep disconnecting each other.
    ///
    /// - Throws: ``MQTTPushError``, with one of these codes:
    ///   - `noResources` if the system has no thread, descriptor or memory left.
    ///   - `invalidConfiguration` if ``publisher`` is already running.
    ///   - A code such as `notConnected`, `badCredentials` or `subscriptionRefused` if a first connection failed,
    ///     including the publisher's. Such errors are thrown only if
    ///     ``MQTTPushConfiguration/firstConnectionMustSucceed`` is set.
    public func run(into intake: any Intake) async throws {
        LibraryWarning.warn(of: configuration, to: logger)
        guard let publisher else { return try await receive(into: intake) }
        let publishing = try publisher.begin()
        try await withThrowingTaskGroup(of: Void.self) { group in
            // The publisher is not cancelled here, because it must send replies until the last message is settled.
            group.addTask { try await publishing.ended() }
            group.addTask {
                defer { publishing.stop() }
                try await receive(into: intake)
            }
            // The first failure ends the other task.
            for try await _ in group {}
        }
    }

    private func receive(into intake: any Intake) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for part in parts {
                group.addTask { try await receive(part.configuration, part.subscriptions, into: intake) }
            }
            // The first failure ends the other tasks.
            for try await _ in group {}
        }
    }

    private func receive(
        _ configuration: MQTTPushConfiguration,
        _ subscriptions: SubscriptionManager,
        into intake: any Intake
    ) async throws {
        let bridge: ThreadBridge<MQTTPushError>
        do throws(SystemResourceError) {
            bridge = try ThreadBridge()
            try bridge.start { [bridge, logger, sessionEnd, responder, sender] () throws(MQTTPushError) in
                try ReceiveLoop(
                    configuration,
                    subscriptions: subscriptions,
                    bridge: bridge,
                    intake: intake,
                    logger: logger,
                    sessionEnd: sessionEnd,
                    responder: responder,
                    sender: sender
                )
                .run()
            }
        } catch {
            throw MQTTPushError(.noResources, error.description, source: source)
        }
        if case .returned(let error?) = await bridge.served(by: intake) { throw error }
    }
}

extension MQTTPushAdapter: RestoringAdapter {
    /// Reads stored messages again, with the current topics of the source. If topics of several connections match a
    /// message, those of the source's own connection come first.
    ///
    /// The broker, the topic, the quality of service, the retain flag and the properties are those with which each message
    /// arrived, and the sender publishes as for new messages. Deliveries are not counted, and nothing is sent to the
    /// response topic of a request.
    public func restore(_ messages: [StoredMessage], at now: WallTime) -> [Arrival] {
        var current = configuration
        let snapshots = parts.map { $0.subscriptions.snapshot(clearingAdded: false) }
        current.topics = snapshots.flatMap(\.topics)
        current.otherTopics = snapshots.flatMap(\.former) + configuration.otherTopics
        let receiver = PushReceiver(configuration: current, sender: sender)
        var origins = StoredOrigins<PushFacts>(source: source)
        for (token, message) in messages.enumerated() {
            receiver.restore(message, token: UInt64(token), at: now, &origins)
        }
        return receiver.takeBatch(keepingIDsOf: messages)
    }
}
#endif
