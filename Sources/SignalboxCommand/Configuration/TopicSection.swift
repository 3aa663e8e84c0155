import MQTTPush
import SignalboxCore
import SignalboxRoutes

/// One entry of a source's `topics`.
struct TopicSection: Sendable, Hashable {
    /// What is subscribed to, with its captures.
    let pattern: TopicPattern
    /// What the message's bytes are.
    let payload: PayloadKind
    /// The action each message is, or `nil` when a capture or the message itself names it.
    let action: ActionName?
    /// How a message names its action, where nothing else does.
    var envelope = TopicEnvelope.standard
    /// The most each message is worth.
    var quality = MQTTQuality.atLeastOnce
    /// What becomes of messages that the broker had stored.
    var retained = MQTTRetained.deliver
}
