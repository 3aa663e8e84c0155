/// What a push source did with the requests it received, since the adapter was made.
public struct MQTTReplyCounts: Sendable, Hashable {
    /// Answers that were handed to the publisher.
    public internal(set) var answered = 0
    /// Requests that are never answered: their Response Topic is not allowed, or too many wait for their outcome.
    public internal(set) var refused = 0
    /// Requests that got no answer: the publisher did not take it, as its queue was full or it had stopped, or the request came
    /// at QoS 0 and was abandoned or never submitted, so that it does not come again.
    public internal(set) var lost = 0
}
