/// The number of messages with each result since a publisher was created. Every accepted message is counted in exactly
/// one of ``waiting``, ``published`` and ``failed``.
public struct MQTTPublishCounts: Sendable, Hashable {
    /// Messages that the publisher accepted. These include messages from `publish`, `offer`, `request`, `call` and
    /// senders, and replies to requests.
    public internal(set) var accepted = 0
    /// Messages that are currently queued, or that were sent but have not been acknowledged yet.
    public internal(set) var waiting = 0
    /// The current total size of the waiting messages, in bytes, including their payloads, topics and properties.
    public internal(set) var waitingBytes = 0
    /// Messages that the broker acknowledged, and QoS 0 messages that were written to the socket.
    public internal(set) var published = 0
    /// Messages that were accepted but, as far as is known, not published.
    public internal(set) var failed = 0
    /// Failed messages that the broker refused with a reason code.
    public internal(set) var denied = 0
    /// Failed messages that were still waiting when the publisher stopped.
    public internal(set) var stopped = 0
    /// Messages that were not accepted because the queue was full.
    public internal(set) var queueFull = 0
    /// Messages that were sent again because the connection broke before they were acknowledged. Subscribers may
    /// receive them more than once.
    public internal(set) var resent = 0
    /// Replies that matched a request.
    public internal(set) var replies = 0
    /// Replies to requests that had already ended.
    public internal(set) var lateReplies = 0
    /// Messages on the response topic that match no request, such as forged or duplicate replies.
    public internal(set) var unmatchedReplies = 0
}
