/// What a push source did with the requests it received, since the adapter was made.
public struct MQTTReplyCounts: Sendable, Hashable {
    /// Answers that were handed to the publisher.
    public internal(set) var answered = 0
    /// Requests that are never answered: their Response Topic is not allowed, or too many wait for their outcome.
    public internal(set) var refused = 0
    /// Answers that the publisher did not take, as its queue was full or it had stopped.
    public internal(set) var lost = 0
}
