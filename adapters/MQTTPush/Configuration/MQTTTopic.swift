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
