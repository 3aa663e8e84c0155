import MQTTPush
import SignalboxRoutes

/// The `publishing` part of a broker's source. What is `nil` has the adapter's own default.
struct PublishingSection: Sendable, Hashable {
    /// Under which id the second connection is known.
    var clientID: MQTTClientID?
    /// How many messages may wait to be sent.
    var queuedMessages: Int?
    /// How many bytes of them.
    var queuedBytes: Int?
    /// The topics that a request may name for its reply.
    var replyTopics: [TopicFilter] = []
    /// How many requests may wait for their outcome to be answered.
    var waitingReplies: Int?
    /// Where plugins' own messages go.
    var sendTopic: String?
    /// How long a message may take to be acknowledged.
    var publishTimeout: Duration?
    /// How long a stop waits for what is queued.
    var stopTimeout: Duration?
}
