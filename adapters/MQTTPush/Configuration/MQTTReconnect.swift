import AdapterSupport

/// Determines how long to wait between connection attempts.
///
/// Each wait is a random time between zero and a ceiling. The ceiling starts at ``first`` and doubles with each
/// attempt, up to ``cap``. Because the waits are random, clients that lose the same broker do not all reconnect at
/// once. After a connection that was dropped because messages were abandoned, the wait is at least half of the ceiling.
///
/// Some failures, such as a wrong password or a client id that is used elsewhere, can only be fixed by changing the
/// configuration. After such a failure, the wait is a random time in the range ``slow`` instead.
public struct MQTTReconnect: Sendable, Hashable {
    /// The initial ceiling. Must be between 1 ms and ``cap``; the default is 0.5 s.
    public var first: Duration
    /// The maximum that the ceiling can reach. Must be at most 1 hour; the default is 30 s.
    public var cap: Duration
    /// The range of waits after a failure that can only be fixed by changing the configuration. Its bounds must be
    /// between 1 ms and 1 hour; the default is 30 to 60 s.
    public var slow: ClosedRange<Duration>

    /// Creates a back-off.
    public init(
        first: Duration = .milliseconds(500),
        cap: Duration = .seconds(30),
        slow: ClosedRange<Duration> = .seconds(30) ... .seconds(60)
    ) {
        self.first = first
        self.cap = cap
        self.slow = slow
    }

    var backoff: ReconnectBackoff { ReconnectBackoff(first: first, cap: cap, slow: slow) }

    func validate() throws(MQTTPushError) {
        let allowed: ClosedRange<Duration> = .milliseconds(1) ... .seconds(3_600)
        guard allowed.contains(first), allowed.contains(cap), first <= cap else {
            throw .invalid("reconnect: the first wait must be 1 ms up to the cap, and the cap at most 1 h")
        }
        guard allowed.contains(slow.lowerBound), allowed.contains(slow.upperBound) else {
            throw .invalid("reconnect: the slow waits must be 1 ms to 1 h")
        }
    }
}
