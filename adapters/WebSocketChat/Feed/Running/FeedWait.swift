/// A wait between two connections.
struct FeedWait: Sendable {
    let duration: Duration
    /// The attempt that follows it.
    let attempt: UInt64
}
