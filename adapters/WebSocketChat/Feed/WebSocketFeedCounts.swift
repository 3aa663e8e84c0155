/// What a feed has counted, since it was made.
public struct WebSocketFeedCounts: Sendable, Hashable, Encodable {
    /// Connections that were opened.
    public internal(set) var connections = 0
    /// Attempts that led to no connection; one for all addresses of a host together.
    public internal(set) var failures = 0
    /// Connections that were cut because the server did not answer a ping.
    public internal(set) var unanswered = 0
    /// Messages read that the supervisor did not take, as it stopped.
    public internal(set) var notTaken = 0
}
