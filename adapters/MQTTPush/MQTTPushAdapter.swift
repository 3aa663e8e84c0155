import AdapterSupport
public import Logging
public import SignalboxCore

/// An adapter for MQTT brokers with at-least-once delivery: it acknowledges a message once Signalbox has custody.
///
/// Each run owns one thread and one connection at a time, plus one of each per entry of
/// ``MQTTPushConfiguration/connections``. A connection reads a batch, submits it, waits until every message is settled
/// or journalled, and only then sends the acknowledgements. If a message is abandoned, the adapter drops the connection
/// without acknowledging, so the broker redelivers all QoS 1 messages of the batch. Redelivered messages can be
/// deduplicated by id. QoS 0 messages are not redelivered.
///
/// Configure the broker to keep all undelivered messages (mosquitto: `max_queued_messages 0`). By default mosquitto
/// silently drops messages beyond 1,000.
public struct MQTTPushAdapter: Adapter {
    /// The configuration of the adapter.
    public let configuration: MQTTPushConfiguration
    /// The second client, if ``MQTTPushConfiguration/publishing`` configures one. It runs while the adapter runs;
    /// messages passed to it earlier wait in its queue.
    public let publisher: MQTTPublisher?
    /// Replies to requests; `nil` without reply topics.
    private let responder: Responder?
    /// The `context.sender` of arrivals; `nil` without a send topic.
    private let sender: PushSender?
    private let logger: Logger
    let parts: [(configuration: MQTTPushConfiguration, subscriptions: SubscriptionManager)]

    /// - Parameters:
    ///   - configuration: The configuration, validated here.
    ///   - logger: Receives connections, refusals and lost sessions, never payloads or secrets.
    /// - Throws: ``MQTTPushError`` `invalidConfiguration`.
    public init(_ configuration: MQTTPushConfiguration, logger: Logger) throws(MQTTPushError) {
        try configuration.validate()
        self.configuration = configuration
        self.logger = logger
        parts = configuration.perConnection.map { ($0, SubscriptionManager($0.topics)) }
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

    /// The configured source.
    public var source: SourceName { configuration.source }

    /// Unacknowledged messages are redelivered under the id that the publisher set in the payload or topic. Replies
    /// require ``MQTTPublishing/replyTopics``; a sender requires ``MQTTPublishing/sendTopic``.
    public var features: AdapterFeatures {
        var features: AdapterFeatures = [.redelivers, .stableIDs]
        if responder != nil { features.insert(.replies) }
        if sender != nil { features.insert(.pushes) }
        return features
    }

    /// The numbers of requests by result; all 0 if the source answers none.
    public var replyCounts: MQTTReplyCounts { responder?.counts ?? MQTTReplyCounts() }

    /// Calls an action of another program through ``MQTTPublishing/sendTopic`` and waits for its reply.
    ///
    /// - Parameters:
    ///   - action: The name by which the receiver routes the call.
    ///   - body: The body as JSON; empty for none.
    ///   - timeout: The time from the call to the reply, including connecting; above zero, at most 24 h.
    /// - Returns: The reply, whatever its outcome: see ``MQTTReply/outcome``.
    /// - Throws: ``MQTTPublishError`` as ``MQTTPublisher/request(_:timeout:)`` does, and `unsupported` without a send
    ///   topic.
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
    /// The topic remains for later connections and runs of this adapter. A connection has at most 1,000 topics. The
    /// call waits until the current batch is settled and the broker has answered; cancellation does not end the wait.
    ///
    /// - Parameters:
    ///   - topic: The topic. Earlier topics take precedence for messages that both match.
    ///   - connection: The name of one of ``MQTTPushConfiguration/connections``; `nil` (default) for the source's own.
    /// - Returns: `done` when the broker has granted the subscription; `pending` if there is no connection.
    /// - Throws: ``MQTTPushError`` `invalidConfiguration` if the topic is invalid, a duplicate or one too many, or if
    ///   the connection does not exist; `subscriptionRefused` if the broker refuses the topic, which is then discarded.
    @discardableResult
    public func add(_ topic: MQTTTopic, to connection: String? = nil) async throws(MQTTPushError) -> MQTTTopicState {
        try await subscriptions(of: connection).add(topic)
    }

    /// Ends a subscription without interrupting the others. The broker still delivers messages that it holds for the
    /// session, possibly after this method returns (MQTT 5.0, 3.10.4) or on a later connection. After a restart of the
    /// process the topic is unknown, and such messages are `rejected(malformed)`.
    ///
    /// The removal applies to later connections and runs of this adapter. The last topic of a connection cannot be
    /// removed. The call waits as ``add(_:to:)`` does. A topic that is added again in the meantime remains.
    ///
    /// - Parameters:
    ///   - filter: The filter as sent to the broker: with `+` and `#` for captures, and with `$share/GROUP/` if shared.
    ///   - connection: The name of one of ``MQTTPushConfiguration/connections``; `nil` (default) for the source's own.
    /// - Returns: `done` when the broker has ended the subscription; `pending` if there is no connection.
    /// - Throws: ``MQTTPushError`` `invalidConfiguration` if the topic or connection does not exist, if the topic is
    ///   the last one, or if 1,000 removals are already pending.
    @discardableResult
    public func remove(_ filter: String, from connection: String? = nil) async throws(MQTTPushError) -> MQTTTopicState {
        try await subscriptions(of: connection).remove(filter)
    }

    private func subscriptions(of connection: String?) throws(MQTTPushError) -> SubscriptionManager {
        guard let part = parts.first(where: { $0.configuration.connectionName == connection }) else {
            throw MQTTPushError(.invalidConfiguration, "there is no connection with that name", source: source)
        }
        return part.subscriptions
    }

    /// Receives until its task is cancelled or the intake closes, and reconnects as needed.
    ///
    /// Cancellation stops the run gracefully. It reads nothing more, waits until the messages it has taken are settled,
    /// acknowledges them and sends DISCONNECT; the broker keeps the session. It waits up to
    /// ``MQTTPushConfiguration/lingerTimeout`` for the broker to read this. Cancellation takes effect at once,
    /// including before and between connections. Only system calls that read files and secrets, resolve a name or
    /// connect cannot be interrupted; their thread is detached and ends later. Only one run may be active at a time:
    /// two would take over the client id from each other.
    ///
    /// - Throws: ``MQTTPushError`` `noResources` if the system has no thread, descriptor or memory left; `notConnected`
    ///   and `subscriptionRefused` if ``MQTTPushConfiguration/firstConnectionMustSucceed`` is set, publisher included;
    ///   `invalidConfiguration` if ``publisher`` is already running.
    public func run(into intake: any Intake) async throws {
        MosquittoVulnerabilities.warn(of: configuration, to: logger)
        guard let publisher else { return try await receive(into: intake) }
        let publishing = try publisher.begin()
        try await withThrowingTaskGroup(of: Void.self) { group in
            // Cancellation does not reach the publisher: it sends replies until the last message is settled.
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
            try bridge.start { [bridge, logger, responder, sender] () throws(MQTTPushError) in
                try ReceiveLoop(
                    configuration,
                    subscriptions: subscriptions,
                    bridge: bridge,
                    intake: intake,
                    logger: logger,
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

extension ActionName {
    /// The broker lost the session of a reconnecting source, so messages sent in the meantime may be missing. Submitted
    /// before the new session's first message. The body is an object of `broker`, `client_id` and, for a further
    /// connection of the source, `connection`. Publishers cannot send this action.
    public static let pushSessionLost = ActionName.own("sessionLost")
}
