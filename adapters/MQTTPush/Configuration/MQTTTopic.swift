public import SignalboxCore
public import SignalboxRoutes

/// A subscription, including the format of its payloads and how its messages name their action.
///
/// For example, in this subscription, the topic names the action, and the capture `device` becomes a member of the
/// body:
///
/// ```swift
/// let topic = try MQTTTopic(TopicPattern("push/{device}/{action}"))
/// ```
///
/// Two patterns in one source should not match the same topic. If they do, some brokers, such as mosquitto, send a
/// message once for each matching pattern. Every copy is then read according to the first of these patterns.
public struct MQTTTopic: Sendable, Hashable {
    /// The pattern that a message's topic must match, including captures.
    ///
    /// If the pattern has the capture `{action}`, this capture names the action and the whole payload is the body. The
    /// capture `{id}` is the message's id, and all other captures become members of the body. With the prefix
    /// `$share/GROUP/`, the clients in a group share the messages.
    ///
    /// An id identifies a single message, so that the message is handled only once even if it is redelivered. To
    /// capture the name of a thing that many messages are about, such as a lamp, use a different capture name, as in
    /// `lamp/{lamp}/set`.
    public var pattern: TopicPattern
    /// The format of the payload. The default is JSON. Text and bytes do not name an action, so they require `{action}`
    /// in the pattern or an ``action``.
    public var payload: PayloadKind
    /// The action for all messages of this subscription. The default is `nil`, which means that the capture `{action}`
    /// names the action. If there is no such capture, the payload names the action, as specified by ``envelope``.
    public var action: ActionName?
    /// How the payload names its action if neither ``action`` nor `{action}` does. The default is a standard envelope.
    public var envelope: PayloadEnvelope
    /// The quality of service to request. The default is at least once. If the broker grants a lower one, a warning is
    /// logged.
    public var qos: MQTTQoS = .atLeastOnce
    /// How to treat retained messages. By default, they are delivered.
    public var retained: MQTTRetained = .deliver

    /// Creates a subscription.
    public init(
        _ pattern: TopicPattern,
        payload: PayloadKind = .json,
        action: ActionName? = nil,
        envelope: PayloadEnvelope = .standard
    ) {
        self.pattern = pattern
        self.payload = payload
        self.action = action
        self.envelope = envelope
    }

    func validate() throws(MQTTPushError) {
        let namesAction = pattern.captureNames.contains("action")
        let hasAction = namesAction || action != nil
        let shown = "topic \(pattern.text.debugDescription)"
        let envelopeRule =
            "its action comes from the topic or is fixed, so its payload cannot be an envelope of kind \(envelope)"
        let payloadRule = "a payload of kind \(payload.rawValue) names no action; use {action} or a fixed action"
        try MQTTPushError.check([
            (!namesAction || action == nil, "\(shown): use {action} or a fixed action, not both"),
            (envelope == .standard || !hasAction, "\(shown): \(envelopeRule)"),
            (payload == .json || hasAction, "\(shown): \(payloadRule)"),
        ])
    }
}

/// A quality of service (MQTT 5.0, 4.3). QoS 2 is not supported; see ``MQTTPushConfiguration``.
public enum MQTTQoS: Int, Sendable, Hashable, CaseIterable {
    /// QoS 0. Messages are never acknowledged, so a message is lost if the connection breaks or a queue is full.
    case atMostOnce = 0
    /// QoS 1. Each message is sent until it is acknowledged, so it may arrive more than once.
    case atLeastOnce = 1
}

/// How to treat retained messages, which the broker stored before the subscription was made.
public enum MQTTRetained: String, Sendable, Hashable, CaseIterable {
    /// Delivers retained messages and marks them with ``PushFacts/retained``. An MQTT 5 broker sends them once for each
    /// new subscription, whereas an MQTT 3.1.1 broker sends them again on each connection.
    case deliver
    /// Drops retained messages. An MQTT 5 broker is asked not to send them. If an MQTT 3.1.1 broker sends them, they
    /// are acknowledged, counted and dropped.
    case ignore
}

/// How far a connection has left its groups, which are its shared subscriptions (MQTT 5.0, 4.8.2).
public enum MQTTGroupDeparture: Sendable, Hashable {
    /// The broker has ended the subscriptions, and all messages that it had assigned before are acknowledged.
    case done
    /// The broker has ended the subscriptions. Messages that it had assigned before may wait in the session, or are in
    /// progress.
    case messagesLeft
    /// The broker may still have a subscription and assign messages to it. The text has the reason, without a full stop.
    case subscribed(problem: String)
}

/// The result of adding a topic to a connection or removing it.
public enum MQTTTopicState: Sendable, Hashable {
    /// The broker has answered, and the change is in effect.
    case done
    /// There was no connection, or it ended before the broker answered. The change will be made on the next connection.
    case pending
}
