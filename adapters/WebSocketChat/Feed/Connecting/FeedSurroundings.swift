/// Time, chance and names as a feed meets them; tests bring their own.
struct FeedSurroundings: Sendable {
    /// The time that deadlines are measured with, when the service's thread looks at them.
    var now: @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }
    /// Waits between two connections; ends early when its task is cancelled.
    var sleep: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    /// Where in its range a wait lies, from 0 to 1.
    var share: @Sendable () -> Double = { .random(in: 0...1) }
    /// The addresses of a name; may block.
    var resolve: @Sendable (String) -> Result<[String], FeedEnd> = { AddressLookup.addresses(of: $0) }
    /// Where what may block is done.
    var lookups = LookupThreads.shared
}
