public import SignalboxCore
public import SignalboxRoutes

/// One subscription: which topics, what their payloads are, and what names the action.
///
/// Better that no topic is matched by two patterns of a source: a broker may then send its messages once for each
/// (mosquitto does), and each copy is read by the first pattern that matches.
public struct MQTTTopic: Sendable, Hashable {
    /// The topics, with captures; behind `$share/GROUP/` those that a group of clients shares. `{action}` names the action and the whole payload is the body; `{id}` is the id;
    /// other captures join the body.
    ///
    /// An id stands for one message, which is handled once although it may come again. What more than one message is
    /// about, such as a lamp, gets another name: `lamp/{lamp}/set`.
    public var pattern: TopicPattern
    /// What a payload's bytes are; JSON by default. Text and bytes need an action from the topic or from ``action``.
    public var payload: PayloadKind
    /// The action of every message of this subscription, or `nil` (default): then `{action}` names it, or, without
    /// one, the payload does, as ``envelope`` says.
    public var action: ActionName?
    /// How a payload names its action where neither ``action`` nor `{action}` does; a standard envelope by default.
    public var envelope: PayloadEnvelope
    /// The quality of service that is asked for; at least once by default. A broker may grant less, which is logged.
    public var quality: MQTTQuality = .atLeastOnce
    /// What becomes of messages that the broker had stored; they are delivered by default.
    public var retained: MQTTRetained = .deliver

    /// A subscription.
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
        let shown = "topic \(pattern.text.debugDescription)"
        if namesAction && action != nil {
            throw MQTTPushError(
                .invalidConfiguration,
                "\(shown): its action comes from {action} or is fixed, not both"
            )
        }
        if envelope != .standard && (namesAction || action != nil) {
            throw MQTTPushError(
                .invalidConfiguration,
                "\(shown): its action comes from the topic or is fixed, so that its payload is no envelope of kind \(envelope)"
            )
        }
        if payload != .json && !namesAction && action == nil {
            throw MQTTPushError(
                .invalidConfiguration,
                "\(shown): a payload of kind \(payload.rawValue) names no action; use {action} or a fixed action"
            )
        }
    }
}

/// How surely a message is delivered (MQTT 5.0, 4.3). QoS 2 is not offered: with libmosquitto it cannot promise that nothing
/// is lost.
public enum MQTTQuality: Int, Sendable, Hashable, CaseIterable {
    /// QoS 0: never acknowledged; lost when a connection breaks or a queue is full.
    case atMostOnce = 0
    /// QoS 1: sent until it is acknowledged, and so perhaps twice.
    case atLeastOnce = 1
}

/// What becomes of the messages that a broker had stored before a subscription was made.
public enum MQTTRetained: String, Sendable, Hashable, CaseIterable {
    /// They are delivered, marked as retained. MQTT 5 sends them once, where the subscription is new; MQTT 3.1.1 again with
    /// each connection.
    case deliver
    /// Nobody wants them. An MQTT 5 broker is asked not to send them; what one of MQTT 3.1.1 sends is acknowledged,
    /// counted and dropped.
    case ignore
}

/// What became of a topic that was added or removed while a source may be running.
public enum MQTTTopicState: Sendable, Hashable {
    /// The broker has answered.
    case done
    /// There is no connection, or it ended before the answer: it is done with the next one.
    case remembered
}
