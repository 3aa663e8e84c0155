/// What a publisher did since it was made: every message it was given is in exactly one of ``waiting``, ``published`` and
/// ``failed``.
public struct MQTTPublishCounts: Sendable, Hashable {
    /// Messages that were taken: by `publish`, `offer`, `request`, `call`, a sender, and answers to requests.
    public internal(set) var taken = 0
    /// Messages that are queued or not answered yet, now.
    public internal(set) var waiting = 0
    /// Their bytes, now: payloads, topics and properties.
    public internal(set) var waitingBytes = 0
    /// Messages that the broker took: acknowledged, or at QoS 0 written to the socket.
    public internal(set) var published = 0
    /// Messages that were taken and then not published, as far as is known.
    public internal(set) var failed = 0
    /// Of ``failed``: those that the broker refused with a reason code.
    public internal(set) var denied = 0
    /// Of ``failed``: those that a stop ended.
    public internal(set) var stopped = 0
    /// Messages that were not taken as the queue was full.
    public internal(set) var refusedAsFull = 0
    /// Messages that were sent once more as a connection broke before they were acknowledged: subscribers may have them
    /// twice.
    public internal(set) var sentAgain = 0
    /// Replies that met their request.
    public internal(set) var replies = 0
    /// Replies to requests that had ended already.
    public internal(set) var lateReplies = 0
    /// Messages on the response topic that belong to no request: forged, or repeated.
    public internal(set) var strayReplies = 0
}
