public import SignalboxCore
public import SignalboxRoutes

/// A subscription, with the format of its payloads and the way in which its messages name their action.
///
/// For example, this subscription takes the action from the topic, and `device` becomes a member of the body:
///
/// ```swift
/// let topic = try MQTTTopic(TopicPattern("push/{device}/{action}"))
/// ```
///
/// The patterns of one source should not match the same topic. Otherwise some brokers, such as mosquitto, send a
/// message once for each matching pattern, and the first of these patterns reads every copy.
public struct MQTTTopic: Sendable, Hashable {
    /// The pattern of the topics, with captures.
    ///
    /// If the pattern has `{action}`, that capture names the action, and the whole payload is the body. The capture
    /// `{id}` is the id, and the other captures become members of the body. With the prefix `$share/GROUP/`, the
    /// clients of a group share the messages.
    ///
    /// An id stands for one message, which is handled once even if it is redelivered. For a thing that many messages
    /// are about, such as a lamp, use another name, as in `lamp/{lamp}/set`.
    public var pattern: TopicPattern
    /// The format of the payload. The default is JSON. Text and bytes name no action, so they require `{action}` in the
    /// pattern or an ``action``.
    public var payload: PayloadKind
    /// The action of every message of this subscription. If it is `nil`, which is the default, then `{action}` names
    /// the action. Without `{action}`, the payload names it, as ``envelope`` specifies.
    public var action: ActionName?
    /// How the payload names its action if neither ``action`` nor `{action}` does. The default is a standard envelope.
    public var envelope: PayloadEnvelope
    /// The requested quality of service. The default is at least once. If the broker grants less, the adapter logs a
    /// warning.
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

/// A quality of service (MQTT 5.0, 4.3). QoS 2 is not supported, because libmosquitto cannot guarantee its delivery.
public enum MQTTQoS: Int, Sendable, Hashable, CaseIterable {
    /// QoS 0. A message is never acknowledged, so it is lost if a connection breaks or a queue is full.
    case atMostOnce = 0
    /// QoS 1. A message is sent until it is acknowledged, so it may arrive more than once.
    case atLeastOnce = 1
}

/// How to treat retained messages, which the broker had stored before the subscription.
public enum MQTTRetained: String, Sendable, Hashable, CaseIterable {
    /// Delivers the messages, and ``PushFacts/retained`` marks them. An MQTT 5 broker sends them once for each new
    /// subscription. An MQTT 3.1.1 broker sends them at each connection.
    case deliver
    /// Drops the messages. The adapter asks an MQTT 5 broker not to send them. Those from an MQTT 3.1.1 broker are
    /// acknowledged, counted and dropped.
    case ignore
}

/// The result of adding or removing a topic.
public enum MQTTTopicState: Sendable, Hashable {
    /// The broker has answered, and the change is made.
    case done
    /// There was no connection, or the connection ended before the broker answered. The adapter makes the change on the
    /// next connection.
    case pending
}
