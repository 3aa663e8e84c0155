/// Draws the waits between connections: each at random between nothing and a ceiling that doubles, or, after a fault that
/// only a changed configuration can cure, from a range of its own.
package struct ReconnectBackoff {
    private let first: Duration
    private let cap: Duration
    private let slow: ClosedRange<Duration>
    private var ceiling: Duration

    /// - Parameters:
    ///   - first: the first ceiling.
    ///   - cap: the largest ceiling.
    ///   - slow: the waits after a fault of the configuration.
    package init(first: Duration, cap: Duration, slow: ClosedRange<Duration>) {
        self.first = first
        self.cap = cap
        self.slow = slow
        ceiling = first
    }

    /// A connection was of use: the next wait is a first one.
    package mutating func succeeded() {
        ceiling = first
    }

    /// The wait after a connection ended.
    ///
    /// - Parameters:
    ///   - isHeld: whether a retry is useless until a cause is removed; the wait is then at least half of its ceiling.
    ///   - share: drawn at random from 0 to 1: where in its range the wait lies.
    package mutating func next(isConfigurationFault: Bool, isHeld: Bool = false, share: Double) -> Duration {
        if isConfigurationFault {
            return slow.lowerBound + (slow.upperBound - slow.lowerBound) * share
        }
        defer { ceiling = min(ceiling * 2, cap) }
        return isHeld ? ceiling / 2 + ceiling / 2 * share : ceiling * share
    }
}
