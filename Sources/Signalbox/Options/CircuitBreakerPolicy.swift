/// When a plugin that fails again and again is left alone for a while.
///
/// After so many failed actions in a row the breaker opens: what comes for the plugin is `rejected(unavailable)`. When
/// ``openFor`` is over one action is let through; if it is handled the breaker closes, if it fails it stays open for as
/// long again. An action counts once, after its last attempt; a rejected one says nothing about the plugin.
public struct CircuitBreakerPolicy: Sendable, Hashable {
    /// How many failed actions in a row open it, 1 to 1,000,000; 5 by default.
    public var failures: Int { didSet { check() } }
    /// How long it stays open before one action is tried, above zero; 30 s by default.
    public var openFor: Duration { didSet { check() } }

    /// - Precondition: the values are in their ranges.
    public init(failures: Int = 5, openFor: Duration = .seconds(30)) {
        self.failures = failures
        self.openFor = openFor
        check()
    }

    private func check() {
        precondition((1...1_000_000).contains(failures), "a circuit breaker opens after 1 to 1,000,000 failures")
        precondition(openFor > .zero, "a circuit breaker stays open for more than no time")
    }
}
