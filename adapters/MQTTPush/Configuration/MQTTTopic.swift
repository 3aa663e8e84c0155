public import SignalboxCore
public import SignalboxRoutes

/// A subscription: its topics, the format of their payloads, and the source of the action's name.
///
/// Avoid patterns of one source that match the same topic. Some brokers, such as mosquitto, then send a message once
/// per pattern, and the first matching pattern reads each copy.
public struct MQTTTopic: Sendable, Hashable {
    /// The topics, with captures; a `$share/GROUP/` prefix shares them between a group of clients. With `{action}`, the
    /// capture names the action and the whole payload is the body. `{id}` is the id. Other captures become body
    /// members.
    ///
    /// An id stands for one message, which is handled once even if it is redelivered. For an entity that several
    /// messages concern, such as a lamp, use another name: `lamp/{lamp}/set`.
    public var pattern: TopicPattern
    /// The format of the payload; JSON by default. Text and bytes require an action from the topic or from ``action``.
    public var payload: PayloadKind
    /// The action of every message of this subscription. If `nil` (default), `{action}` names it, or without that the
    /// payload, as ``envelope`` specifies.
    public var action: ActionName?
    /// How the payload names its action if neither ``action`` nor `{action}` does; a standard envelope by default.
    public var envelope: PayloadEnvelope
    /// The requested quality of service; at least once by default. A broker may grant less, which is logged.
    public var qos: MQTTQoS = .atLeastOnce
    /// How to treat retained messages; they are delivered by default.
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

/// A quality of service (MQTT 5.0, 4.3). QoS 2 is not supported: libmosquitto cannot guarantee its delivery.
public enum MQTTQoS: Int, Sendable, Hashable, CaseIterable {
    /// QoS 0: never acknowledged; lost if a connection breaks or a queue is full.
    case atMostOnce = 0
    /// QoS 1: sent until acknowledged, so possibly more than once.
    case atLeastOnce = 1
}

/// How to treat messages that the broker had stored before the subscription.
public enum MQTTRetained: String, Sendable, Hashable, CaseIterable {
    /// Delivers them, marked as retained. MQTT 5 sends them once per new subscription, MQTT 3.1.1 at each connection.
    case deliver
    /// Drops them. An MQTT 5 broker is requested not to send them; those from an MQTT 3.1.1 broker are acknowledged,
    /// counted and dropped.
    case ignore
}

/// The result of adding or removing a topic.
public enum MQTTTopicState: Sendable, Hashable {
    /// The broker has answered.
    case done
    /// There is no connection, or it ended before the answer. The change is made on the next connection.
    case pending
}
