import MQTTPush
import SignalboxCore

/// What a plugin `publish` is told.
struct PublishSection: Sendable, Hashable {
    /// The source by whose second connection it publishes.
    let source: SourceName
    /// Where to.
    let topic: TopicTemplate
    /// How much each message is worth.
    var quality = MQTTQuality.atLeastOnce
    /// Whether the broker keeps the last message of a topic for those who come later.
    var retain = false
}
