/// The intake takes no more arrivals: the supervisor drains or has stopped.
public struct SourceClosed: Error, Sendable, Hashable {
    /// Made by whoever closes an intake.
    public init() {}
}
